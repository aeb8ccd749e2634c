package http

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/kubernetes/pkg/probe"
)

// asked runs one probe of what a tenant's pod answers.
func asked(t *testing.T, pod http.HandlerFunc, headers http.Header) (probe.Result, string, error) {
	served := httptest.NewServer(pod)
	defer served.Close()
	where, _ := url.Parse(served.URL + "/health")
	return New().Probe(where, headers, 20*time.Second)
}

// grown returns how many bytes were allocated meanwhile.
func grown(do func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestALongAnswerIsCutOff(t *testing.T) {
	const mib = 1 << 20
	chunk := bytes.Repeat([]byte("x"), mib)
	var result probe.Result
	var body string
	used := grown(func() {
		result, body, _ = asked(t, func(w http.ResponseWriter, r *http.Request) {
			for i := 0; i < 64; i++ {
				if _, err := w.Write(chunk); err != nil {
					return
				}
			}
		}, nil)
	})
	if result != probe.Success || len(body) != 10<<10 {
		t.Errorf("%s with %d bytes, expected success with 10 KiB", result, len(body))
	}
	if used > 8*mib {
		t.Errorf("%d MiB were allocated for an answer of 64 MiB", used/mib)
	}
}

func TestNothingIsUnpacked(t *testing.T) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	writer.Write(make([]byte, 32<<20))
	writer.Close()
	var wanted atomic.Value
	result, body, _ := asked(t, func(w http.ResponseWriter, r *http.Request) {
		wanted.Store(r.Header.Get("Accept-Encoding"))
		w.Header().Set("Content-Encoding", "gzip")
		w.Write(packed.Bytes())
	}, nil)
	if wanted.Load() != "" {
		t.Errorf("it asks for %q", wanted.Load())
	}
	if result != probe.Success || len(body) > 10<<10 || strings.HasPrefix(body, "\x00") {
		t.Errorf("%s with %d bytes that begin with %.3q", result, len(body), body)
	}
}

func TestHeadersAreBounded(t *testing.T) {
	result, _, _ := asked(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Long", strings.Repeat("x", 1<<20))
	}, nil)
	if result != probe.Failure {
		t.Errorf("%s with a header of 1 MiB", result)
	}
}

func TestARedirectElsewhereIsNotFollowed(t *testing.T) {
	var reached int32
	victim := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { atomic.AddInt32(&reached, 1) }))
	defer victim.Close()
	port := victim.URL[strings.LastIndex(victim.URL, ":"):]
	for _, target := range []string{victim.URL, victim.URL + "/secret", "//" + victim.URL[len("http://"):], "http://localhost" + port} {
		result, _, err := asked(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", target)
			w.WriteHeader(http.StatusFound)
		}, nil)
		// Whether the other answers, and what, cannot be seen by the result.
		if result != probe.Success || err != nil {
			t.Errorf("redirect to %s: %s, %v", target, result, err)
		}
	}
	if reached != 0 {
		t.Errorf("the other host was asked %d times", reached)
	}
}

func TestARedirectOnTheSameHostIsFollowed(t *testing.T) {
	for target, wanted := range map[string]probe.Result{"/good": probe.Success, "/bad": probe.Failure, "/health": probe.Failure} {
		var hosts []string
		result, _, _ := asked(t, func(w http.ResponseWriter, r *http.Request) {
			hosts = append(hosts, r.Host)
			switch r.URL.Path {
			case "/health":
				http.Redirect(w, r, target, http.StatusFound)
			case "/bad":
				w.WriteHeader(http.StatusInternalServerError)
			default:
				fmt.Fprint(w, "ok")
			}
		}, http.Header{"Host": {"model.test"}})
		if result != wanted {
			t.Errorf("redirect to %s: %s, expected %s", target, result, wanted)
		}
		for _, host := range hosts {
			if host != "model.test" {
				t.Errorf("redirect to %s: Host %s", target, host)
			}
		}
	}
}

func TestNoProxyIsUsed(t *testing.T) {
	if prober := New().(httpProber); prober.transport.Proxy != nil {
		t.Error("probes go through the proxy of kubelet's environment")
	}
}
