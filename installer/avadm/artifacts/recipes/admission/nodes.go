package main

import (
	"fmt"
	"log"
	"net/url"
	"reflect"
	"strings"
)

// Labels that a node may set on itself: what kubelet finds out about its machine, and what the node can mount. All others decide
// which pods come to the node, and are set through a master.
var nodesOwnLabels = map[string]bool{
	hostLabel:                 true,
	"beta.kubernetes.io/os":   true,
	"beta.kubernetes.io/arch": true,
	"avadm.io/cephfs":         true,
	"avadm.io/rbd":            true,
	"avadm.io/nfs":            true,
}

// By this label pods are bound to a node, and to the volumes on its disk. It is the node's name.
const hostLabel = "kubernetes.io/hostname"

// What the installer has noted of a node's labels and taints: it removes by it what is no longer wanted.
const keptNote = "avadm.io/kept"

type node struct {
	Metadata struct {
		Name        string            `json:"name"`
		Labels      map[string]string `json:"labels"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec map[string]interface{} `json:"spec"`
}

func isNode(who user) bool {
	for _, group := range who.Groups {
		if group == "system:nodes" {
			return true
		}
	}
	return strings.HasPrefix(who.Username, "system:node:")
}

// node returns why a node's request about a Node is refused, "" where it is not. Which Node it may change at all, the API
// server's plug-in NodeRestriction decides; in 1.9 that one guards neither labels nor taints, and a change of the
// status changes labels too. The old object of the review is of no use: 1.9's validation of a Node copies the new metadata
// and taints into it before admission is asked (ValidateNodeUpdate).
func (p policy) node(r request) string {
	if !isNode(r.UserInfo) {
		return ""
	}
	if r.Operation == "DELETE" {
		return "a node may not delete Nodes: it would register again with other labels and taints; delete it through a master"
	}
	var now, before node
	if err := decode(r.Object, &now); err != nil {
		return unreadable(err)
	}
	if r.Operation == "UPDATE" {
		// A heartbeat passes where the Node cannot be read: a cluster whose nodes all seem dead loses its pods.
		if _, err := p.find("/api/v1/nodes/"+url.PathEscape(r.Name), &before); err != nil && r.SubResource == "status" {
			log.Printf("not looked at: the status of %s: %v", r.Name, err)
			return ""
		} else if err != nil {
			return "the Node cannot be read: " + err.Error()
		}
	}
	if key := changed(now.Metadata.Labels, before.Metadata.Labels, nodesOwnLabels); key != "" {
		return fmt.Sprintf("label %s decides which pods come to a node: a node may not change it; set it through a master", key)
	}
	if host, there := now.Metadata.Labels[hostLabel]; there && host != now.Metadata.Name {
		return fmt.Sprintf("invalid label %s: expected the node's name %s, found %q", hostLabel, now.Metadata.Name, host)
	}
	if now.Metadata.Annotations[keptNote] != before.Metadata.Annotations[keptNote] {
		return fmt.Sprintf("annotation %s is reserved for the installer", keptNote)
	}
	// Taints of a new Node only keep pods away. A change of the status changes none.
	if r.Operation == "UPDATE" && r.SubResource == "" && len(now.Spec)+len(before.Spec) > 0 && !reflect.DeepEqual(now.Spec, before.Spec) {
		return "spec (taints, unschedulable) decides which pods come to a node: a node may not change it; set it through a master"
	}
	return ""
}

// changed returns a key that two maps differ by and that is not free, "" where there is none.
func changed(now, before map[string]string, free map[string]bool) string {
	for _, pair := range [][2]map[string]string{{now, before}, {before, now}} {
		for key, value := range pair[0] {
			if other, there := pair[1][key]; !free[key] && (!there || other != value) {
				return key
			}
		}
	}
	return ""
}
