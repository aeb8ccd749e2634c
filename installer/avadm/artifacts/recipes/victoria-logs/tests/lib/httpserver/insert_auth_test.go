package httpserver

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/VictoriaMetrics/VictoriaMetrics/lib/flagutil"
)

// The account of those who send lines writes them, and reads nothing: it is on every node.
func TestInsertAccountWritesAndReadsNothing(t *testing.T) {
	set := func(p *flagutil.Password, value string) {
		if err := p.Set(value); err != nil {
			t.Fatal(err)
		}
	}
	*httpAuthUsername = "reader"
	set(httpAuthPassword, "r")
	defer func() { *httpAuthUsername, *insertAuthUsername = "", "" }()
	f := func(method, path, user, password string, want int) {
		t.Helper()
		r := httptest.NewRequest(method, path, nil)
		r.SetBasicAuth(user, password)
		w := httptest.NewRecorder()
		CheckBasicAuth(w, r)
		if w.Code != want {
			t.Errorf("%s %s as %s:%s: %d, wanted %d", method, path, user, password, w.Code, want)
		}
	}
	const insert = "/insert/jsonline?_stream_fields=host"
	// Without a name there is no such account.
	*insertAuthUsername = ""
	set(insertAuthPassword, "")
	f("POST", insert, "", "", 401)
	f("POST", insert, "reader", "r", 200)
	*insertAuthUsername = "shipper"
	set(insertAuthPassword, "s")
	f("POST", insert, "shipper", "s", 200)
	f("POST", insert, "shipper", "r", 401)
	f("POST", insert, "shipper", "", 401)
	f("POST", insert, "reader", "s", 401)
	for _, path := range []string{
		"/select/logsql/query?query=*", "/select/logsql/tail", "/select/logsql/field_values", "/select/vmui/", "/metrics", "/flags",
		"/debug/pprof/heap", "/internal/force_merge", "/", "/insert/jsonline/../../select/logsql/query", "/insert//jsonline",
		"/select/logsql/query/insert/jsonline", "/insert/elasticsearch/_bulk", "/insert/loki/api/v1/push",
	} {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			f(method, path, "shipper", "s", 401)
			f(method, path, "reader", "r", 200)
		}
	}
	f("GET", insert, "shipper", "s", 401)
}
