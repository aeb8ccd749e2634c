package main

import (
	"fmt"
	"strings"
)

const networkNotes = "cni.projectcalico.org/"

// What Calico's plug-in writes of a pod. Every other annotation of this kind asks it for something.
var writtenNotes = map[string]bool{
	networkNotes + "podIP": true, networkNotes + "podIPs": true, networkNotes + "containerID": true,
}

// pod returns why a pod is refused, "" where it is not: with an address of its own choice it would be what policies and lists
// of proxies trust, such as a tunnel of a node. Controllers are held to it too: they make the pods of tenants' templates.
func (p policy) pod(r request) string {
	var now struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
	}
	for _, group := range r.UserInfo.Groups {
		if group == "system:masters" {
			return ""
		}
	}
	if err := decode(r.Object, &now); err != nil {
		return unreadable(err)
	}
	for key := range now.Metadata.Annotations {
		if strings.HasPrefix(key, networkNotes) && !writtenNotes[key] {
			return fmt.Sprintf("annotation %s is reserved for administrators: it chooses a pod's address; remove it", key)
		}
	}
	return ""
}
