package main

import (
	"encoding/json"
	"fmt"
	"net"
	"reflect"
	"strings"
)

// The parts of Kubernetes' objects that are looked at.
type user struct {
	Username string   `json:"username"`
	Groups   []string `json:"groups"`
}

type resource struct {
	Resource string `json:"resource"`
}

type request struct {
	UID         string          `json:"uid"`
	Resource    resource        `json:"resource"`
	SubResource string          `json:"subResource"`
	Name        string          `json:"name"`
	Namespace   string          `json:"namespace"`
	Operation   string          `json:"operation"`
	UserInfo    user            `json:"userInfo"`
	Object      json.RawMessage `json:"object"`
	OldObject   json.RawMessage `json:"oldObject"`
}

type service struct {
	Spec struct {
		Type         string   `json:"type"`
		ExternalName string   `json:"externalName"`
		ExternalIPs  []string `json:"externalIPs"`
	} `json:"spec"`
	Status json.RawMessage `json:"status"`
}

type endpoints struct {
	Subsets []struct {
		Addresses         []address `json:"addresses"`
		NotReadyAddresses []address `json:"notReadyAddresses"`
	} `json:"subsets"`
}

type address struct {
	IP string `json:"ip"`
}

// Who is not asked: administrators, and the controllers, whose accounts are of kube-system.
var trustedGroups = map[string]bool{"system:masters": true, "system:serviceaccounts:kube-system": true}
var trustedUsers = map[string]bool{
	"system:apiserver": true, "system:kube-controller-manager": true, "system:kube-scheduler": true,
}

// policy is what the site says of itself.
type policy struct {
	pods      []*net.IPNet
	balancers map[string]bool
	folders   string
	find      find
	// Names of the site, each with all below it, which no account but administrators' may have in an Ingress.
	hosts []string
	// The account that makes the Ingresses of the platform's services, and the domain that they are below.
	platformUser   string
	platformDomain string
}

// judge returns how a request is refused, nil where it is not.
func (p policy) judge(r request) *status {
	if r.Resource.Resource == "pods" && r.SubResource == "" {
		if why := p.pod(r); why != "" {
			return forbidden(why)
		}
	}
	if trusted(r.UserInfo) {
		return nil
	}
	if m, is := makerOf(r.UserInfo); is {
		if refusal := p.volumes(m, r); refusal != nil {
			return refusal
		}
	}
	if why := p.refusal(r); why != "" {
		return forbidden(why)
	}
	return nil
}

// refusal returns why a request about a Service, endpoints, an Ingress or a Node is refused, "" where it is not.
func (p policy) refusal(r request) string {
	switch r.Resource.Resource + "/" + r.SubResource {
	case "services/":
		return p.service(r)
	case "services/status":
		return p.status(r)
	case "endpoints/":
		return p.endpoints(r)
	case "ingresses/":
		return p.ingress(r)
	case "nodes/", "nodes/status":
		return p.node(r)
	}
	return ""
}

func trusted(who user) bool {
	for _, group := range who.Groups {
		if trustedGroups[group] {
			return true
		}
	}
	return trustedUsers[who.Username]
}

// decode reads an object; what cannot be read is no object that may pass.
func decode(raw json.RawMessage, into interface{}) error {
	if len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, into)
}

func (p policy) service(r request) string {
	var now, before service
	if err := firstError(decode(r.Object, &now), decode(r.OldObject, &before)); err != nil {
		return unreadable(err)
	}
	known := map[string]bool{}
	for _, ip := range before.Spec.ExternalIPs {
		known[ip] = true
	}
	for _, ip := range now.Spec.ExternalIPs {
		if !known[ip] {
			return fmt.Sprintf("externalIPs (%s) are the administrator's to give: a Service with one takes what others send "+
				"to that address; use the type LoadBalancer", ip)
		}
	}
	same := before.Spec.Type == now.Spec.Type && before.Spec.ExternalName == now.Spec.ExternalName
	if now.Spec.Type == "ExternalName" && !same {
		return fmt.Sprintf("the type ExternalName (%s) is the administrator's to give: by it the ingress controllers would ask "+
			"any host in the name of their node", now.Spec.ExternalName)
	}
	return ""
}

func (p policy) status(r request) string {
	var now, before service
	if err := firstError(decode(r.Object, &now), decode(r.OldObject, &before)); err != nil {
		return unreadable(err)
	}
	if p.balancers[r.UserInfo.Username] {
		return ""
	}
	var a, b interface{}
	if err := firstError(decode(now.Status, &a), decode(before.Status, &b)); err != nil {
		return unreadable(err)
	}
	if !reflect.DeepEqual(a, b) {
		return "the addresses in a Service's status are the load balancer's to give"
	}
	return ""
}

func (p policy) ofPod(ip net.IP) bool {
	for _, network := range p.pods {
		if network.Contains(ip) {
			return true
		}
	}
	return false
}

func (p policy) endpoints(r request) string {
	var now, before endpoints
	if err := firstError(decode(r.Object, &now), decode(r.OldObject, &before)); err != nil {
		return unreadable(err)
	}
	known := map[string]bool{}
	for _, ip := range before.all() {
		known[ip] = true
	}
	for _, ip := range now.all() {
		parsed := net.ParseIP(ip)
		if !known[ip] && (parsed == nil || !p.ofPod(parsed)) {
			return fmt.Sprintf("%s is no address of a pod (%s): endpoints elsewhere are the administrator's to give", ip, p.pods)
		}
	}
	return ""
}

func (e endpoints) all() []string {
	var found []string
	for _, subset := range e.Subsets {
		for _, list := range [][]address{subset.Addresses, subset.NotReadyAddresses} {
			for _, one := range list {
				found = append(found, one.IP)
			}
		}
	}
	return found
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func unreadable(err error) string {
	return "the object cannot be read: " + strings.TrimSpace(err.Error())
}
