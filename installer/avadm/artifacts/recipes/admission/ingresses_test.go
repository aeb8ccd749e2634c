package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

const operator = "system:serviceaccount:ava-system:operator"

// ingresses is a site with AVA, and with an Ingress of another tenant's.
func ingresses() policy {
	p := site()
	p.hosts = []string{"ava.lab.test", "wb.lab.test", "services.lab.test", "m1.lab.test"}
	p.platformUser, p.platformDomain = operator, "services.lab.test"
	p.find = func(path string, into interface{}) (bool, error) {
		if path != "/apis/extensions/v1beta1/ingresses" {
			return false, errors.New("unexpected " + path)
		}
		return true, json.Unmarshal([]byte(`{"items": [
			{"metadata": {"namespace": "team-a"}, "spec": {"rules": [{"host": "mine.lab.test"}]}},
			{"metadata": {"namespace": "team-b"}, "spec": {"rules": [{"host": "theirs.lab.test"}, {"host": "*.wide.test"}, {"host": "a.deep.test"}]}},
			{"metadata": {"namespace": "team-b"}, "spec": {"backend": {}}}]}`), into)
	}
	return p
}

func wanted(notes, spec string) string {
	return `{"metadata": {"name": "x", "annotations": {` + notes + `}}, "spec": ` + spec + `}`
}

func host(name string) string { return `{"rules": [{"host": "` + name + `"}]}` }

func path(value string) string {
	text, _ := json.Marshal(value)
	return `{"rules": [{"host": "new.lab.test", "http": {"paths": [{"path": ` + string(text) + `}]}}]}`
}

func TestIngresses(t *testing.T) {
	const router = `"traefik.ingress.kubernetes.io/router.`
	platform := user{operator, []string{"system:serviceaccounts:ava-system"}}
	admin := user{"root", []string{"system:masters"}}
	other := user{"system:serviceaccount:team-a:default", []string{"system:serviceaccounts:team-a"}}
	for _, c := range []struct {
		who        user
		notes, now string
		word       string
	}{
		{tenant, "", host("new.lab.test"), ""},
		{tenant, "", host("mine.lab.test"), ""},
		{tenant, "", host("*.new.lab.test"), ""},
		{tenant, "", path("/a/b-c_d/%20"), ""},
		{tenant, "", `{}`, ""},
		{tenant, `"example.com/note": "1"`, host("new.lab.test"), ""},
		{tenant, router + `tls": "true", ` + router + `entrypoints": "web, websecure"`, host("new.lab.test"), ""},
		{tenant, router + `middlewares": "avadm-https@file"`, host("new.lab.test"), ""},
		// The platform's own names, in every spelling.
		{tenant, "", host("ava.lab.test"), "reserved"},
		{other, "", host("ava.lab.test"), "reserved"},
		{admin, "", host("ava.lab.test"), ""},
		{tenant, "", host("AVA.lab.test"), "invalid host"},
		{tenant, "", host("ava.lab.test."), "invalid host"},
		{tenant, "", host("x.ava.lab.test"), "reserved"},
		{tenant, "", host("*.lab.test"), "reserved"},
		{tenant, "", host("*.test"), "invalid host"},
		{tenant, "", host("*.ava.lab.test"), "reserved"},
		{tenant, "", host("wb.lab.test"), "reserved"},
		{tenant, "", host("*.wb.lab.test"), "reserved"},
		{tenant, "", host("b1234.wb.lab.test"), "reserved"},
		{tenant, "", host("model.services.lab.test"), "reserved"},
		{tenant, "", host("m1.lab.test"), "reserved"},
		{tenant, "", host("notava.lab.test"), ""},
		// Everything that is no single name.
		{tenant, "", host(""), "invalid host"},
		{tenant, "", host("*"), "invalid host"},
		{tenant, "", host("127.0.0.1"), "invalid host"},
		{tenant, "", host("localhost"), "invalid host"},
		{tenant, "", host("a.b`) || Host(`ava.lab.test"), "invalid host"},
		{tenant, "", `{"backend": {"serviceName": "x", "servicePort": 80}}`, "spec.backend"},
		{tenant, "", `{"rules": [{"http": {"paths": [{"path": "/login"}]}}]}`, "invalid host"},
		{tenant, "", `{"rules": [{"host": "new.lab.test"}, {"host": "ava.lab.test"}]}`, "reserved"},
		{tenant, "", path("/x`) || Host(`ava.lab.test"), "invalid path"},
		{tenant, "", path("/x\n"), "invalid path"},
		{tenant, "", `3`, "cannot be read"},
		// Another namespace's.
		{tenant, "", host("theirs.lab.test"), "another namespace"},
		{tenant, "", host("x.wide.test"), "another namespace"},
		{tenant, "", host("*.deep.test"), "another namespace"},
		{tenant, "", host("*.wide.test"), "another namespace"},
		// What the controller reads as its own configuration.
		{tenant, router + `priority": "100000"`, host("new.lab.test"), "reserved"},
		{tenant, router + `Priority": "100000"`, host("new.lab.test"), "reserved"},
		{tenant, router + `pathmatcher": "Host(` + "`a`" + `) || Path"`, host("new.lab.test"), "reserved"},
		{tenant, router + `entrypoints": "callers"`, host("new.lab.test"), "reserved"},
		{tenant, router + `entrypoints": "web,metrics"`, host("new.lab.test"), "reserved"},
		{tenant, router + `middlewares": "avadm-members@file"`, host("new.lab.test"), "reserved"},
		{tenant, router + `tls.options": "x"`, host("new.lab.test"), "reserved"},
		{tenant, router + `tls.certresolver": "x"`, host("new.lab.test"), "reserved"},
		{tenant, `"traefik.something/else": "x"`, host("new.lab.test"), "reserved"},
		// The operator: its services, and nothing else of the site.
		{platform, router + `middlewares": "avadm-members@file", ` + router + `priority": "1000000"`, host("m-12.services.lab.test"), ""},
		{platform, "", host("ava.lab.test"), "not one of"},
		{platform, "", host("a.b.services.lab.test"), "not one of"},
		{platform, "", host("*.services.lab.test"), "not one of"},
		{platform, "", host("services.lab.test"), "not one of"},
		{platform, router + `entrypoints": "callers"`, host("m-12.services.lab.test"), "reserved"},
		{platform, router + `priority": "2000000"`, host("m-12.services.lab.test"), "reserved"},
	} {
		for _, operation := range []string{"CREATE", "UPDATE"} {
			r := request{Resource: resource{"ingresses"}, Namespace: "team-a", Operation: operation, UserInfo: c.who}
			r.Object = json.RawMessage(wanted(c.notes, c.now))
			if operation == "UPDATE" {
				r.OldObject = r.Object // What was free when it was written may not be any more.
			}
			refusal := ""
			if refused := ingresses().judge(r); refused != nil {
				refusal = refused.Message
			}
			if (refusal == "") != (c.word == "") || !strings.Contains(refusal, c.word) {
				t.Errorf("%s %s {%s} %s: %q, expected %q", operation, c.who.Username, c.notes, c.now, refusal, c.word)
			}
		}
	}
}

func TestIngressesOfOthersMustBeReadable(t *testing.T) {
	p := ingresses()
	p.find = func(string, interface{}) (bool, error) { return false, errors.New("away") }
	r := request{Resource: resource{"ingresses"}, UserInfo: tenant, Object: json.RawMessage(wanted("", host("new.lab.test")))}
	if refused := p.judge(r); refused == nil || !strings.Contains(refused.Message, "away") {
		t.Errorf("%v", refused)
	}
}

func TestNoPlatformHasNoServices(t *testing.T) {
	p := ingresses()
	p.platformUser, p.platformDomain = "", ""
	r := request{Resource: resource{"ingresses"}, UserInfo: user{"", nil}, Object: json.RawMessage(wanted("", host("ava.lab.test")))}
	if p.judge(r) == nil {
		t.Error("an account without a name is the platform")
	}
}
