package main

import (
	"encoding/json"
	"net"
	"net/http/httptest"
	"strings"
	"testing"
)

var tenant = user{"team-a", []string{"avadm:tenant", "system:authenticated"}}

func site() policy {
	_, pods, _ := net.ParseCIDR("10.88.0.0/16")
	_, more, _ := net.ParseCIDR("10.92.0.0/16")
	return policy{pods: []*net.IPNet{pods, more}, balancers: map[string]bool{"load-balancer": true}}
}

func TestDecisions(t *testing.T) {
	admin := user{"root", []string{"system:masters"}}
	controller := user{"system:serviceaccount:kube-system:endpoint-controller", []string{"system:serviceaccounts:kube-system"}}
	other := user{"system:serviceaccount:team-a:default", []string{"system:serviceaccounts:team-a"}}
	const plain = `{"spec": {"type": "ClusterIP"}}`
	const ips = `{"spec": {"externalIPs": ["10.0.0.11"]}}`
	const local = `{"spec": {"type": "ExternalName", "externalName": "localhost"}}`
	const held = `{"spec": {}, "status": {"loadBalancer": {"ingress": [{"ip": "8.8.8.8"}]}}}`
	point := func(ip string) string { return `{"subsets": [{"addresses": [{"ip": "` + ip + `"}]}]}` }
	for _, c := range []struct {
		who               user
		what, now, before string
		word              string
	}{
		{tenant, "services/", plain, "", ""},
		{tenant, "services/", `{"spec": {"type": "LoadBalancer", "loadBalancerIP": "10.0.0.200"}}`, "", ""},
		{tenant, "services/", ips, "", "externalIPs"},
		{other, "services/", ips, "", "externalIPs"},
		{admin, "services/", ips, "", ""},
		{tenant, "services/", ips, ips, ""},
		{tenant, "services/", `{"spec": {"externalIPs": ["10.0.0.11", "10.0.0.12"]}}`, ips, "10.0.0.12"},
		{tenant, "services/", plain, ips, ""},
		{tenant, "services/", local, "", "ExternalName"},
		{tenant, "services/", local, local, ""},
		{tenant, "services/", local, plain, "ExternalName"},
		{tenant, "services/", local, `{"spec": {"type": "ExternalName", "externalName": "a.b"}}`, "ExternalName"},
		{admin, "services/", local, "", ""},
		{tenant, "services/", `{"spec": 3}`, "", "cannot be read"},
		{tenant, "services/status", held, plain, "load balancer's"},
		{user{"load-balancer", nil}, "services/status", held, plain, ""},
		{user{"load-balancer", nil}, "services/", ips, plain, "externalIPs"},
		{tenant, "services/status", held, held, ""},
		{tenant, "endpoints/", point("10.88.3.4"), "", ""},
		{tenant, "endpoints/", point("10.92.3.4"), "", ""},
		{tenant, "endpoints/", point("10.90.3.4"), "", "no address of a pod"},
		{tenant, "endpoints/", point("10.0.0.11"), "", "no address of a pod"},
		{tenant, "endpoints/", point("127.0.0.1"), "", "no address of a pod"},
		{tenant, "endpoints/", point("169.254.169.254"), "", "no address of a pod"},
		{tenant, "endpoints/", point("rubbish"), "", "no address of a pod"},
		{tenant, "endpoints/", point("10.0.0.11"), point("10.0.0.11"), ""},
		{tenant, "endpoints/", `{"subsets": [{"notReadyAddresses": [{"ip": "10.0.0.11"}]}]}`, "", "no address of a pod"},
		{controller, "endpoints/", point("10.0.0.11"), "", ""},
	} {
		kind := strings.SplitN(c.what, "/", 2)
		r := request{Resource: resource{kind[0]}, SubResource: kind[1], UserInfo: c.who, Object: json.RawMessage(c.now)}
		if c.before != "" {
			r.OldObject = json.RawMessage(c.before)
		}
		refusal := ""
		if refused := site().judge(r); refused != nil {
			refusal = refused.Message
		}
		if (refusal == "") != (c.word == "") || !strings.Contains(refusal, c.word) {
			t.Errorf("%s %s %s (before: %s): %q, wanted %q", c.who.Username, c.what, c.now, c.before, refusal, c.word)
		}
	}
}

func TestReview(t *testing.T) {
	for body, wanted := range map[string]string{
		`{"request": {"uid": "7", "resource": {"resource": "services"}, "object": {"spec": {"externalIPs": ["1.2.3.4"]}}}}`: `"allowed":false`,
		`{"request": {"uid": "7", "resource": {"resource": "services"}, "object": {"spec": {}}, "oldObject": null}}`:        `"allowed":true`,
		`{}`:      "no request",
		`rubbish`: "invalid character",
	} {
		recorded := httptest.NewRecorder()
		handler(site()).ServeHTTP(recorded, httptest.NewRequest("POST", "/review", strings.NewReader(body)))
		if !strings.Contains(recorded.Body.String(), wanted) {
			t.Errorf("%s: %s", body, recorded.Body)
		}
	}
}
