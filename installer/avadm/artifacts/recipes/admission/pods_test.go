package main

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestNoPodChoosesItsAddress(t *testing.T) {
	tenant := user{"tina", []string{"system:authenticated"}}
	controller := user{"system:serviceaccount:kube-system:replicaset-controller", []string{"system:serviceaccounts:kube-system"}}
	manager := user{"system:kube-controller-manager", []string{"system:authenticated"}}
	administrator := user{"admin", []string{"system:masters"}}
	notes := func(keys ...string) string {
		found := []string{}
		for _, key := range keys {
			found = append(found, `"`+key+`": "[\"10.250.0.1\"]"`)
		}
		return `{"metadata": {"annotations": {` + strings.Join(found, ", ") + `}}}`
	}
	written := notes("cni.projectcalico.org/podIP", "cni.projectcalico.org/podIPs", "cni.projectcalico.org/containerID")
	for _, c := range []struct {
		who  user
		now  string
		word string
	}{
		{tenant, `{"metadata": {}}`, ""},
		{tenant, notes("example.org/ipAddrs"), ""},
		{controller, written, ""},
		{tenant, written, ""},
		{administrator, notes("cni.projectcalico.org/ipv4pools"), ""},
		{tenant, notes("cni.projectcalico.org/ipAddrs"), "annotation cni.projectcalico.org/ipAddrs"},
		{controller, notes("cni.projectcalico.org/ipAddrs"), "annotation cni.projectcalico.org/ipAddrs"},
		{manager, notes("cni.projectcalico.org/ipAddrs"), "annotation cni.projectcalico.org/ipAddrs"},
		{controller, notes("cni.projectcalico.org/ipv4pools"), "ipv4pools"},
		{tenant, notes("cni.projectcalico.org/ipAddrsNoIpam"), "ipAddrsNoIpam"},
		{tenant, notes("cni.projectcalico.org/allowedSourcePrefixes"), "allowedSourcePrefixes"},
		{tenant, notes("cni.projectcalico.org/anything"), "anything"},
		{tenant, `{"metadata": {"annotations": 1}}`, "cannot"},
	} {
		for _, operation := range []string{"CREATE", "UPDATE"} {
			r := request{Resource: resource{"pods"}, Operation: operation, UserInfo: c.who, Object: json.RawMessage(c.now)}
			refusal := ""
			if refused := (policy{}).judge(r); refused != nil {
				refusal = refused.Message
			}
			if (refusal == "") != (c.word == "") || !strings.Contains(refusal, c.word) {
				t.Errorf("%s %s %s: %q, expected %q", c.who.Username, operation, c.now, refusal, c.word)
			}
		}
	}
}
