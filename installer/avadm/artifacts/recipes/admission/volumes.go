package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strings"
)

// What the programs of volumes write into objects (roles/kube_volumes/files).
const (
	madeBy      = "pv.kubernetes.io/provisioned-by"
	wantedOf    = "volume.beta.kubernetes.io/storage-provisioner"
	chosenNode  = "avadm.io/local-node"
	affinityOf  = "volume.alpha.kubernetes.io/node-affinity"
	localMaker  = "avadm.io/local"
	rbdMaker    = "avadm.io/rbd"
	cephfsMaker = "avadm.io/cephfs"
	flexDriver  = "avadm/volume"
)

var volumeName = regexp.MustCompile(`^pvc-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
var objectName = regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`)

type metadata struct {
	Name        string            `json:"name"`
	UID         string            `json:"uid"`
	Annotations map[string]string `json:"annotations"`
}

type flexVolume struct {
	Driver    string            `json:"driver"`
	Options   map[string]string `json:"options"`
	SecretRef interface{}       `json:"secretRef"`
}

type volume struct {
	Metadata metadata `json:"metadata"`
	Spec     struct {
		FlexVolume *flexVolume `json:"flexVolume"`
		HostPath   *struct {
			Path string `json:"path"`
		} `json:"hostPath"`
		ClaimRef struct {
			Namespace string `json:"namespace"`
			Name      string `json:"name"`
			UID       string `json:"uid"`
		} `json:"claimRef"`
	} `json:"spec"`
}

// maker is who makes volumes: on a node's own disk (local), or in ceph for the whole site.
type maker struct {
	local bool
	node  string
}

// makerOf tells which maker of volumes a user is, by group; one without a node's name owns nothing.
func makerOf(who user) (maker, bool) {
	for _, group := range who.Groups {
		if group == "avadm:volumes" || group == "avadm:provisioners" {
			parts := strings.SplitN(who.Username, ":", 3)
			local := group == "avadm:volumes"
			node := ""
			if len(parts) == 3 && parts[0] == "avadm" && (parts[1] == "volumes") == local {
				node = parts[2]
			}
			return maker{local, node}, true
		}
	}
	return maker{}, false
}

// volumes holds the makers of volumes to what is theirs: nil where they may.
func (p policy) volumes(m maker, r request) *status {
	kind := r.Resource.Resource
	if kind != "persistentvolumes" && kind != "persistentvolumeclaims" {
		return nil
	}
	if m.node == "" {
		return forbidden(r.UserInfo.Username + " is no user of a node's volumes")
	}
	switch kind + "/" + r.SubResource + " " + r.Operation {
	case "persistentvolumes/ CREATE":
		return p.volumeMade(m, r)
	case "persistentvolumes/ DELETE":
		return p.volumeRemoved(m, r)
	case "persistentvolumeclaims/ UPDATE":
		return claimTaken(m, r)
	}
	return forbidden(fmt.Sprintf("%s makes and removes volumes: it does no %s of %s", r.UserInfo.Username, r.Operation, kind))
}

func (p policy) volumeMade(m maker, r request) *status {
	var now volume
	if err := decode(r.Object, &now); err != nil {
		return forbidden(unreadable(err))
	}
	name, claim := now.Metadata.Name, now.Spec.ClaimRef
	if !volumeName.MatchString(name) || name != "pvc-"+claim.UID {
		return forbidden(fmt.Sprintf("a volume is made for one claim, whose uid its name tells; %q is not, of claim %q", name, claim.UID))
	}
	if !p.sound(m, now) {
		return forbidden(fmt.Sprintf("%s is no volume that %s makes", name, r.UserInfo.Username))
	}
	if !objectName.MatchString(claim.Namespace) || !objectName.MatchString(claim.Name) {
		return forbidden("the claim has no name of a claim")
	}
	var wanted volume
	path := "/api/v1/namespaces/" + claim.Namespace + "/persistentvolumeclaims/" + claim.Name
	there, err := p.find(path, &wanted)
	if err != nil {
		return forbidden("its claim cannot be looked at: " + err.Error())
	}
	// One whose claim went meanwhile binds to nothing, and is removed with its data by who made it.
	if !there || wanted.Metadata.UID != claim.UID {
		return nil
	}
	notes := wanted.Metadata.Annotations
	if notes[wantedOf] != now.Metadata.Annotations[madeBy] || (m.local && notes[chosenNode] != m.node) {
		return forbidden(fmt.Sprintf("claim %s/%s is not %s's to serve", claim.Namespace, claim.Name, r.UserInfo.Username))
	}
	return nil
}

// sound tells whether a new volume is wholly what its maker makes.
func (p policy) sound(m maker, v volume) bool {
	flex, name := v.Spec.FlexVolume, v.Metadata.Name
	if flex != nil && (flex.Driver != flexDriver || flex.SecretRef != nil) {
		return false
	}
	by := v.Metadata.Annotations[madeBy]
	switch {
	case m.local:
		wanted := map[string]string{"kind": "local", "image": name, "node": m.node, "access": "rw"}
		return by == localMaker && flex != nil && reflect.DeepEqual(flex.Options, wanted) && bound(v, m.node)
	case by == rbdMaker && flex != nil:
		access := flex.Options["access"]
		wanted := map[string]string{"kind": "rbd", "image": name, "access": access}
		return (access == "rw" || access == "ro") && reflect.DeepEqual(flex.Options, wanted)
	case by == cephfsMaker && v.Spec.HostPath != nil:
		return p.folders != "" && v.Spec.HostPath.Path == p.folders+"/"+name
	}
	return false
}

// bound tells whether a volume can be used on a node alone.
func bound(v volume, node string) bool {
	wanted := `{"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [` +
		`{"key": "kubernetes.io/hostname", "operator": "In", "values": [` + fmt.Sprintf("%q", node) + `]}]}]}}`
	var a, b interface{}
	err := firstError(json.Unmarshal([]byte(v.Metadata.Annotations[affinityOf]), &a), json.Unmarshal([]byte(wanted), &b))
	return err == nil && reflect.DeepEqual(a, b)
}

// volumeRemoved looks the volume up: 1.9 tells its name alone (apiserver/pkg/endpoints/handlers/delete.go). What a volume
// is made of cannot be changed, so what is read here is what is removed.
func (p policy) volumeRemoved(m maker, r request) *status {
	var there volume
	if !objectName.MatchString(r.Name) {
		return forbidden("volumes are removed one by one, by their names")
	}
	found, err := p.find("/api/v1/persistentvolumes/"+r.Name, &there)
	if err != nil {
		return forbidden("the volume cannot be looked at: " + err.Error())
	}
	if !found {
		return &status{"there is no volume " + r.Name, "NotFound", http.StatusNotFound}
	}
	flex, by := flexVolume{}, there.Metadata.Annotations[madeBy]
	if there.Spec.FlexVolume != nil && there.Spec.FlexVolume.Driver == flexDriver {
		flex = *there.Spec.FlexVolume
	}
	own := by == localMaker && flex.Options["kind"] == "local" && flex.Options["node"] == m.node
	if !m.local {
		own = (by == cephfsMaker && there.Spec.HostPath != nil) || (by == rbdMaker && flex.Options["kind"] == "rbd")
	}
	if !own {
		return forbidden(fmt.Sprintf("volume %s is not %s's to remove", r.Name, r.UserInfo.Username))
	}
	return nil
}

// claimTaken lets a node note its own name in a claim of local volumes that no node has taken, and change nothing else.
func claimTaken(m maker, r request) *status {
	now, before := map[string]interface{}{}, map[string]interface{}{}
	if err := firstError(decode(r.Object, &now), decode(r.OldObject, &before)); err != nil {
		return forbidden(unreadable(err))
	}
	noted, _, restNow := split(now)
	was, wanted, rest := split(before)
	mine := m.local && wanted == localMaker && noted == m.node && (was == "" || was == m.node)
	if !mine || !reflect.DeepEqual(restNow, rest) {
		return forbidden(fmt.Sprintf("%s may note its node in a claim of local volumes that no other node has taken, and change "+
			"nothing else", r.UserInfo.Username))
	}
	return nil
}

// split returns a claim's node, whom it wants a volume of, and all else but its version.
func split(claim map[string]interface{}) (node, wanted string, rest map[string]interface{}) {
	meta, _ := claim["metadata"].(map[string]interface{})
	notes, _ := meta["annotations"].(map[string]interface{})
	node, _ = notes[chosenNode].(string)
	wanted, _ = notes[wantedOf].(string)
	delete(notes, chosenNode)
	delete(meta, "resourceVersion")
	return node, wanted, claim
}

func forbidden(why string) *status {
	return &status{why, "Forbidden", http.StatusForbidden}
}
