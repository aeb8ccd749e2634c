package ingress

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

const service = `{"metadata": {"name": %q, "namespace": %q, "resourceVersion": "1"}, "spec": {"ports": [{"port": 80}]}}`
const points = `{"metadata": {"name": %q, "namespace": %q, "resourceVersion": "1"},
	"subsets": [{"addresses": [{"ip": %q}], "ports": [{"port": 80}]}]}`
const ingressOf = `{"metadata": {"name": %q, "namespace": %q, "resourceVersion": "1", "creationTimestamp": %q}, "spec": {%s "rules": [{"host": %q,
	"http": {"paths": [{"path": "/", "backend": {"serviceName": %q, "servicePort": 80}}]}}]}}`

const older, younger = "2026-01-01T00:00:00Z", "2026-01-01T00:00:01Z"

// api is an API server of 1.9 that refuses this account everything about Secrets, and remembers that it was asked.
func api(t *testing.T) (*httptest.Server, func() bool) {
	var mutex sync.Mutex
	asked := false
	lists := map[string]string{
		"/api/v1/services": list("v1", "ServiceList",
			fmt.Sprintf(service, "a-web", "team"), fmt.Sprintf(service, "web", "team-a"),
			fmt.Sprintf(service, "web", "a")),
		"/api/v1/endpoints": list("v1", "EndpointsList",
			fmt.Sprintf(points, "a-web", "team", "10.0.0.1"), fmt.Sprintf(points, "web", "team-a", "10.0.0.2"),
			fmt.Sprintf(points, "web", "a", "10.0.0.3")),
		"/apis/extensions/v1beta1/ingresses": list("extensions/v1beta1", "IngressList",
			fmt.Sprintf(ingressOf, "x", "team", older, `"tls": [{"secretName": "own"}],`, "a.test", "a-web"),
			fmt.Sprintf(ingressOf, "x", "team-a", older, "", "b.test", "web"),
			// With names that run into one another this was the route of x in team-a; and it is the younger one of the host's.
			fmt.Sprintf(ingressOf, "x-team", "a", younger, "", "b.test", "web"),
			fmt.Sprintf(ingressOf, "x-team-a", "b", older, "", "test", "none")),
	}
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.Contains(r.URL.Path, "secrets"):
			mutex.Lock()
			asked = true
			mutex.Unlock()
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`)
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"major": "1", "minor": "9", "gitVersion": "v1.9.11"}`)
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case lists[r.URL.Path] != "":
			fmt.Fprint(w, lists[r.URL.Path])
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(served.Close)
	return served, func() bool { mutex.Lock(); defer mutex.Unlock(); return asked }
}

func list(version, kind string, items ...string) string {
	return fmt.Sprintf(`{"apiVersion": %q, "kind": %q, "metadata": {"resourceVersion": "1"}, "items": [%s]}`,
		version, kind, strings.Join(items, ","))
}

func TestServesWithoutReadingSecretsAndKeepsNamespacesApart(t *testing.T) {
	served, asked := api(t)
	client, err := newExternalClusterClient(served.URL, "", "")
	if err != nil {
		t.Fatal(err)
	}
	stop, done := make(chan struct{}), make(chan error, 1)
	t.Cleanup(func() { close(stop); served.CloseClientConnections() })
	go func() { _, err := client.WatchAll(nil, stop); done <- err }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for Secrets, which it may not read")
	}
	conf := (&Provider{}).loadConfigurationFromIngresses(context.Background(), client)
	found := map[string]string{}
	for _, router := range conf.HTTP.Routers {
		backend := conf.HTTP.Services[router.Service]
		found[router.Rule] = backend.LoadBalancer.Servers[0].URL
	}
	for rule, url := range map[string]string{
		"Host(`a.test`) && PathPrefix(`/`)": "http://10.0.0.1:80",
		"Host(`b.test`) && PathPrefix(`/`)": "http://10.0.0.2:80",
	} {
		if found[rule] != url {
			t.Errorf("%s leads to %q, expected %s", rule, found[rule], url)
		}
	}
	if asked() {
		t.Error("it asked for Secrets")
	}
}
