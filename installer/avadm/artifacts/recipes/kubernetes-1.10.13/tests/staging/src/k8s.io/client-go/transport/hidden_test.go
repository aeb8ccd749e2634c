package transport

import (
	"net/http"
	"strings"
	"testing"
)

func TestCredentialsAreNotLogged(t *testing.T) {
	for header, wanted := range map[string]string{"Bearer s3cret": "Bearer <hidden>", "basic s3cret": "basic <hidden>", "s3cret": "<hidden>", "Other s3cret x": "<hidden>"} {
		req, _ := http.NewRequest("GET", "https://x/", nil)
		req.Header.Set("Authorization", header)
		curl := newRequestInfo(req).toCurl()
		if strings.Contains(curl, "s3cret") || !strings.Contains(curl, wanted) {
			t.Errorf("%q: %s", header, curl)
		}
	}
	if hideCredentials("Accept", "a") != "a" || hideCredentials("authorization", "s3cret") != "<hidden>" {
		t.Error("hidden by name, whatever its case")
	}
}
