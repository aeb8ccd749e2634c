package main

import (
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const uid = "0f8fad5b-d9cb-469f-a165-70867728950e"
const made = "pvc-" + uid

// local returns a volume on a node's own disk, with other words in place of some.
func local(node string, changes ...string) string {
	affinity, _ := json.Marshal(`{"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": ` +
		`[{"key": "kubernetes.io/hostname", "operator": "In", "values": ["` + node + `"]}]}]}}`)
	text := `{"metadata": {"name": "` + made + `", "annotations": {"pv.kubernetes.io/provisioned-by": "avadm.io/local", ` +
		`"volume.alpha.kubernetes.io/node-affinity": ` + string(affinity) + `}}, "spec": {"claimRef": {"namespace": "team", "name": ` +
		`"data", "uid": "` + uid + `"}, "flexVolume": {"driver": "avadm/volume", "options": {"kind": "local", "image": "` + made +
		`", "node": "` + node + `", "access": "rw"}}}}`
	return strings.NewReplacer(changes...).Replace(text)
}

func shared(by, source string) string {
	return `{"metadata": {"name": "` + made + `", "annotations": {"pv.kubernetes.io/provisioned-by": "avadm.io/` + by +
		`"}}, "spec": {"claimRef": {"namespace": "team", "name": "data", "uid": "` + uid + `"}, ` + source + `}}`
}

func asked(by, node, more string) string {
	return `{"metadata": {"uid": "` + uid + `", "resourceVersion": "` + node + `", "annotations": {` +
		`"volume.beta.kubernetes.io/storage-provisioner": "avadm.io/` + by + `", "avadm.io/local-node": "` + node + `"}}` + more + `}`
}

func TestVolumes(t *testing.T) {
	one := user{"avadm:volumes:w1", []string{"avadm:volumes", "system:authenticated"}}
	central := user{"avadm:provisioner:w1", []string{"avadm:provisioners", "system:authenticated"}}
	folder := shared("cephfs", `"hostPath": {"path": "/mnt/cephfs/volumes/`+made+`"}`)
	image := shared("rbd", `"flexVolume": {"driver": "avadm/volume", "options": {"kind": "rbd", "image": "`+made+`", "access": "rw"}}`)
	unasked := strings.Replace(asked("local", "", ""), `, "avadm.io/local-node": ""`, "", 1)
	const make, remove, take = "persistentvolumes CREATE", "persistentvolumes DELETE", "persistentvolumeclaims UPDATE"
	const notMade, notServed, notRemoved, notTaken = "is no volume that", "to serve", "to remove", "note its node"
	for _, c := range []struct {
		who         user
		what        string
		now, before string // before: what the API has, of a volume made its claim
		word        string
	}{
		{one, make, local("w1"), asked("local", "w1", ""), ""},
		{one, make, local("w1"), "", ""}, // its claim is gone
		{one, make, local("w1"), strings.Replace(asked("local", "w2", ""), uid, "another", 1), ""},
		{one, make, local("w1"), "down", "cannot be looked at"},
		{one, make, local("w1"), asked("local", "w2", ""), notServed},
		{one, make, local("w1"), unasked, notServed},
		{one, make, local("w1"), asked("rbd", "w1", ""), notServed},
		{one, make, local("w2"), asked("local", "w1", ""), notMade},
		{one, make, local("w1", `"node": "w1"`, `"node": "w2"`), "", notMade},
		{one, make, local("w1", `[\"w1\"]`, `[\"w1\",\"w2\"]`), "", notMade},
		{one, make, local("w1", `"image": "pvc-`, `"image": "../pvc-`), "", notMade},
		{one, make, local("w1", `avadm/volume`, `other/driver`), "", notMade},
		{one, make, local("w1", `"options"`, `"secretRef": {"name": "s"}, "options"`), "", notMade},
		{one, make, local("w1", `"uid": "0`, `"uid": "1`), "", "made for one claim"},
		{one, make, local("w1", uid, ""), "", "made for one claim"},
		{one, make, local("w1", `"name": "data"`, `"name": "../data"`), "", "no name of a claim"},
		{one, make, folder, asked("cephfs", "", ""), notMade},
		{one, make, image, asked("rbd", "", ""), notMade},
		{one, make, `{"spec": 3}`, "", "cannot be read"},
		{central, make, folder, asked("cephfs", "", ""), ""},
		{central, make, image, asked("rbd", "", ""), ""},
		{central, make, image, asked("cephfs", "", ""), notServed},
		{central, make, local("w1"), asked("local", "w1", ""), notMade},
		{central, make, shared("cephfs", `"hostPath": {"path": "/etc"}`), "", notMade},
		{central, make, shared("cephfs", `"hostPath": {"path": "/mnt/cephfs/volumes/../`+made+`"}`), "", notMade},
		{central, make, shared("rbd", `"hostPath": {"path": "/mnt/cephfs/volumes/`+made+`"}`), "", notMade},
		{central, make, strings.Replace(image, `"rw"`, `"rw", "kind2": "x"`, 1), "", notMade},
		{one, remove, "", local("w1"), ""},
		{one, remove, "", local("w2"), notRemoved},
		{one, remove, "", folder, notRemoved},
		{one, remove, "", image, notRemoved},
		{one, remove, "", strings.Replace(local("w1"), "avadm.io/local", "kubernetes.io/aws-ebs", 1), notRemoved},
		{one, remove, "", "", "there is no volume"},
		{one, remove, "", "down", "cannot be looked at"},
		{central, remove, "", folder, ""},
		{central, remove, "", image, ""},
		{central, remove, "", local("w1"), notRemoved},
		{one, take, asked("local", "w1", ""), asked("local", "", ""), ""},
		{one, take, asked("local", "w1", ""), unasked, ""},
		{one, take, asked("local", "w1", ""), asked("local", "w2", ""), notTaken},
		{one, take, asked("local", "w2", ""), unasked, notTaken},
		{one, take, unasked, asked("local", "w1", ""), notTaken},
		{one, take, asked("rbd", "w1", ""), asked("rbd", "", ""), notTaken},
		{one, take, asked("local", "w1", ""), asked("rbd", "", ""), notTaken},
		{one, take, asked("local", "w1", `, "spec": {"volumeName": "x"}`), unasked, notTaken},
		{central, take, asked("local", "w1", ""), unasked, notTaken},
		{one, "persistentvolumes UPDATE", local("w1"), local("w1"), "does no UPDATE"},
		{one, "persistentvolumeclaims DELETE", "", unasked, "does no DELETE"},
		{one, "pods CREATE", "{}", "", ""},
		{user{"avadm:volumes:w1", []string{"avadm:provisioners"}}, make, folder, "", "no user of a node"},
		{user{"avadm:provisioner:w1", []string{"avadm:volumes"}}, remove, "", local("provisioner:w1"), "no user of a node"},
		{user{"volumes", []string{"avadm:volumes"}}, remove, "", local(""), "no user of a node"},
		{user{"root", []string{"system:masters"}}, remove, "", local("w1"), ""},
		{tenant, remove, "", local("w1"), ""}, // RBAC's matter
	} {
		words := strings.Fields(c.what)
		r := request{Resource: resource{words[0]}, Operation: words[1], UserInfo: c.who, Name: made, Object: json.RawMessage(c.now)}
		if words[1] == "UPDATE" {
			r.OldObject = json.RawMessage(c.before)
		}
		p := site()
		p.folders = "/mnt/cephfs/volumes"
		p.find = func(path string, into interface{}) (bool, error) {
			wanted := map[string]string{make: "/api/v1/namespaces/team/persistentvolumeclaims/data", remove: "/api/v1/persistentvolumes/" + made}
			if path != wanted[c.what] {
				t.Errorf("%s: it looked at %s", c.what, path)
			}
			if c.before == "down" {
				return false, errors.New("no answer")
			}
			return c.before != "", decode(json.RawMessage(c.before), into)
		}
		refusal := ""
		if refused := p.judge(r); refused != nil {
			refusal = refused.Message
		}
		if (refusal == "") != (c.word == "") || !strings.Contains(refusal, c.word) {
			t.Errorf("%s %s %s (there: %s): %q, wanted %q", c.who.Username, c.what, c.now, c.before, refusal, c.word)
		}
	}
}

func TestAllVolumesAtOnceAreNotRemoved(t *testing.T) {
	one := user{"avadm:volumes:w1", []string{"avadm:volumes"}}
	for _, name := range []string{"", "../namespaces/team", "a/b"} {
		refusal := site().judge(request{Resource: resource{"persistentvolumes"}, Operation: "DELETE", UserInfo: one, Name: name})
		if refusal == nil || !strings.Contains(refusal.Message, "one by one") {
			t.Errorf("%q: %v", name, refusal)
		}
	}
}

func TestReader(t *testing.T) {
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/there":
			_, _ = w.Write([]byte(local("w1")))
		case "/gone":
			http.NotFound(w, r)
		default:
			http.Error(w, "forbidden", http.StatusForbidden)
		}
	}))
	defer api.Close()
	file := filepath.Join(t.TempDir(), "ca.crt")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: api.Certificate().Raw})
	if err := os.WriteFile(file, block, 0o600); err != nil {
		t.Fatal(err)
	}
	look, err := reader(api.URL, file, tls.Certificate{})
	if err != nil {
		t.Fatal(err)
	}
	for path, wanted := range map[string]struct{ found, fails bool }{
		"/there": {true, false}, "/gone": {false, false}, "/closed": {false, true},
	} {
		var got volume
		found, err := look(path, &got)
		if found != wanted.found || (err != nil) != wanted.fails || found != (got.Metadata.Name == made) {
			t.Errorf("%s: %v, %v, %v", path, found, err, got)
		}
	}
	if _, err := reader(api.URL, filepath.Join(t.TempDir(), "none"), tls.Certificate{}); err == nil {
		t.Error("it starts without an authority")
	}
}
