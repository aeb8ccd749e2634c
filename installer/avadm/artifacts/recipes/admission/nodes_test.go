package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestNodesAreMarkedByAdministratorsAlone(t *testing.T) {
	worker := user{"system:node:w1", []string{"system:nodes", "system:authenticated"}}
	nameless := user{"w1", []string{"system:nodes"}}
	object := func(meta, spec string) string {
		return `{"metadata": {"name": "w1", ` + meta + `}, "spec": {` + spec + `}}`
	}
	labels := func(text string) string { return object(`"labels": {`+text+`}`, "") }
	const silent = "the API server does not answer"
	const own = `"kubernetes.io/hostname": "w1", "beta.kubernetes.io/os": "linux", "beta.kubernetes.io/arch": "amd64"`
	const gpu = own + `, "node-role.kubernetes.io/worker": "", "avadm.io/pool": "gpu", "ava.io/gpu-slots": "4"`
	const taint = `"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]`
	marked := object(`"labels": {`+gpu+`}, "annotations": {"avadm.io/kept": "{}"}`, taint)
	for _, c := range []struct {
		who                          user
		operation, part, now, before string
		word                         string
	}{
		// kubelet's own registration: what it finds out of its machine, and taints, which only keep pods away.
		{worker, "CREATE", "", object(`"labels": {`+own+`}, "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}`, taint), "", ""},
		{worker, "CREATE", "", labels(gpu), "", "label"},
		{worker, "CREATE", "", labels(own + `, "anything": "else"`), "", "label anything"},
		{worker, "CREATE", "", object(`"annotations": {"avadm.io/kept": "{}"}`, ""), "", "avadm.io/kept"},
		// Its heartbeats, what it can mount, and its operating system's name after an upgrade.
		{worker, "UPDATE", "status", marked, marked, ""},
		{worker, "UPDATE", "", labels(gpu + `, "avadm.io/cephfs": "mounted", "avadm.io/rbd": "yes", "avadm.io/nfs": "yes"`), labels(gpu), ""},
		{worker, "UPDATE", "", labels(gpu), labels(gpu + `, "avadm.io/cephfs": "mounted"`), ""},
		{worker, "UPDATE", "status", labels(strings.Replace(gpu, "amd64", "arm64", 1)), labels(gpu), ""},
		{worker, "UPDATE", "", object(`"annotations": {"avadm.io/local-volumes": "{}"}`, taint), object(`"annotations": {}`, taint), ""},
		// The platform's pool, another role, fewer shared cards: by either way, by addition, change or removal.
		{worker, "UPDATE", "", labels(strings.Replace(gpu, `"gpu"`, `"cpu"`, 1)), labels(gpu), "label avadm.io/pool"},
		{worker, "UPDATE", "status", labels(strings.Replace(gpu, `"gpu"`, `"cpu"`, 1)), labels(gpu), "label avadm.io/pool"},
		{nameless, "UPDATE", "status", labels(strings.Replace(gpu, `"gpu"`, `"cpu"`, 1)), labels(gpu), "label avadm.io/pool"},
		{worker, "UPDATE", "", labels(gpu + `, "node-role.kubernetes.io/ingress": ""`), labels(gpu), "node-role.kubernetes.io/ingress"},
		{worker, "UPDATE", "", labels(own), labels(gpu), "label"},
		{worker, "UPDATE", "", object(`"annotations": {"avadm.io/kept": "{}"}`, ""), object(`"annotations": {"avadm.io/kept": "{1}"}`, ""), "avadm.io/kept"},
		{worker, "UPDATE", "", object("\"labels\": {}", ""), object("\"labels\": {}", taint), "spec"},
		{worker, "UPDATE", "", object("\"labels\": {}", `"unschedulable": false`), object("\"labels\": {}", `"unschedulable": true`), "spec"},
		{worker, "UPDATE", "status", labels(strings.Replace(gpu, `"w1"`, `"m1"`, 1)), labels(gpu), "expected the node's name w1"},
		// Its Node would come back as it likes.
		{worker, "DELETE", "", "", "", "delete"},
		{worker, "UPDATE", "", `{"metadata": 3}`, labels(gpu), "cannot be read"},
		// The Node cannot be read: heartbeats continue, and nothing else does.
		{worker, "UPDATE", "status", labels(own), silent, ""},
		{worker, "UPDATE", "", labels(own), silent, "cannot be read"},
		// Administrators, controllers, and operators, who are given that right on purpose.
		{user{"root", []string{"system:masters"}}, "UPDATE", "", labels(own), labels(gpu), ""},
		{user{"system:serviceaccount:kube-system:node-controller", []string{"system:serviceaccounts:kube-system"}}, "DELETE", "", "", "", ""},
		{user{"ops", []string{"system:authenticated"}}, "UPDATE", "", labels(own), labels(gpu), ""},
	} {
		r := request{Resource: resource{"nodes"}, SubResource: c.part, Name: "w1", Operation: c.operation, UserInfo: c.who}
		if c.now != "" {
			r.Object = json.RawMessage(c.now)
		}
		asked := site()
		asked.find = func(path string, into interface{}) (bool, error) {
			if path != "/api/v1/nodes/w1" {
				t.Errorf("asked for %s", path)
			}
			if c.before == silent {
				return false, errors.New("away")
			}
			return true, json.Unmarshal([]byte(c.before), into)
		}
		// What 1.9 gives as the old object has the new metadata and taints.
		r.OldObject = r.Object
		refusal := ""
		if refused := asked.judge(r); refused != nil {
			refusal = refused.Message
		}
		if (refusal == "") != (c.word == "") || !strings.Contains(refusal, c.word) {
			t.Errorf("%s %s %s %s (before: %s): %q, wanted %q", c.who.Username, c.operation, c.part, c.now, c.before, refusal, c.word)
		}
	}
}
