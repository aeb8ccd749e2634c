package handlers

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestTheOldProxyUpgradesNothing(t *testing.T) {
	asked := 0
	backend := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked++ }))
	defer backend.Close()
	location, _ := url.Parse(backend.URL)
	for name, wanted := range map[string]bool{"Upgrade": true, "keep-alive": false} {
		req := httptest.NewRequest("GET", backend.URL, nil)
		req.Header.Set("Connection", name)
		answer := httptest.NewRecorder()
		handled := (&ProxyHandler{}).tryUpgrade(nil, answer, req, req, location, nil, schema.GroupVersion{})
		if handled != wanted || (wanted && answer.Code != http.StatusBadRequest) {
			t.Errorf("%s: %v, %d", name, handled, answer.Code)
		}
	}
	if asked != 0 {
		t.Error("the backend was asked")
	}
}
