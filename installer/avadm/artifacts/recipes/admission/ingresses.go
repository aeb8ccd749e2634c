package main

import (
	"fmt"
	"regexp"
	"strings"
)

// Annotations of the ingress controller on an Ingress, and what an account that is no administrator may write there. Others
// choose its entry points, rules, certificates and the order of its routes for all namespaces.
const controllerNotes = "traefik."

var openNotes = map[string]func(string) bool{
	"traefik.ingress.kubernetes.io/router.tls":         oneOf("true", "false"),
	"traefik.ingress.kubernetes.io/router.entrypoints": listOf("web", "websecure"),
	"traefik.ingress.kubernetes.io/router.middlewares": oneOf("avadm-https@file"),
}

// The operator of the platform also orders who may call a service, and puts the service before tenants' wildcards.
var platformNotes = map[string]func(string) bool{
	"traefik.ingress.kubernetes.io/router.tls":         oneOf("true"),
	"traefik.ingress.kubernetes.io/router.entrypoints": oneOf("websecure"),
	"traefik.ingress.kubernetes.io/router.middlewares": oneOf("avadm-members@file", "avadm-anybody@file"),
	"traefik.ingress.kubernetes.io/router.priority":    oneOf("1000000"),
}

// The controller writes host and path into a rule of its own language, between backticks.
var hostName = regexp.MustCompile(`^(\*\.)?[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$`)
var urlPath = regexp.MustCompile(`^(/[-A-Za-z0-9._~!$&'()*+,;=:@%/]*)?$`)
var numbersOnly = regexp.MustCompile(`^[0-9.]+$`)

type ingress struct {
	Metadata struct {
		Name        string            `json:"name"`
		Namespace   string            `json:"namespace"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		Backend interface{} `json:"backend"`
		Rules   []struct {
			Host string `json:"host"`
			HTTP struct {
				Paths []struct {
					Path string `json:"path"`
				} `json:"paths"`
			} `json:"http"`
		} `json:"rules"`
	} `json:"spec"`
}

// ingress returns why an Ingress is refused, "" where it is not. It is judged whole at each change: a host that was free
// when it was written may be the site's or another namespace's now.
func (p policy) ingress(r request) string {
	var now ingress
	if err := decode(r.Object, &now); err != nil {
		return unreadable(err)
	}
	platform := p.platformUser != "" && r.UserInfo.Username == p.platformUser
	notes := openNotes
	if platform {
		notes = platformNotes
	}
	for key, value := range now.Metadata.Annotations {
		if !strings.HasPrefix(strings.ToLower(key), controllerNotes) {
			continue
		}
		if may, known := notes[key]; !known || !may(value) {
			return fmt.Sprintf("annotation %s: %q is reserved for administrators: it changes routes of other namespaces", key, value)
		}
	}
	if now.Spec.Backend != nil {
		return "spec.backend is reserved for administrators: it receives the requests for all hosts that no Ingress names; " +
			"set a backend for each host in spec.rules"
	}
	for _, rule := range now.Spec.Rules {
		host := rule.Host
		if !hostName.MatchString(host) || numbersOnly.MatchString(host) {
			return fmt.Sprintf("invalid host %q: expected a DNS name in lower case with at least two labels; "+
				"a rule without a host receives the requests for all hosts", host)
		}
		for _, one := range rule.HTTP.Paths {
			if !urlPath.MatchString(one.Path) {
				return fmt.Sprintf("invalid path %q: expected / and characters that a URL path may have", one.Path)
			}
		}
		if platform {
			label, below := strings.CutSuffix(host, "."+p.platformDomain)
			if p.platformDomain == "" || !below || strings.ContainsAny(label, ".*") {
				return fmt.Sprintf("host %s is not one of the platform's services (NAME.%s)", host, p.platformDomain)
			}
			continue
		}
		for _, own := range p.hosts {
			if overlap(host, own) || overlap(host, "*."+own) || strings.HasSuffix(host, "."+own) {
				return fmt.Sprintf("host %s is reserved for the site (%s): choose another name", host, own)
			}
		}
	}
	if platform {
		return ""
	}
	return p.taken(r, now)
}

// taken returns which host of an Ingress another namespace already has, "" where none is.
func (p policy) taken(r request, now ingress) string {
	if len(now.Spec.Rules) == 0 {
		return ""
	}
	var all struct {
		Items []ingress `json:"items"`
	}
	if _, err := p.find("/apis/extensions/v1beta1/ingresses", &all); err != nil {
		return "the Ingresses of other namespaces cannot be read: " + err.Error()
	}
	for _, other := range all.Items {
		if other.Metadata.Namespace == r.Namespace {
			continue
		}
		for _, theirs := range other.Spec.Rules {
			for _, rule := range now.Spec.Rules {
				if overlap(rule.Host, strings.ToLower(theirs.Host)) {
					return fmt.Sprintf("host %s is already used in another namespace: choose another name", rule.Host)
				}
			}
		}
	}
	return ""
}

// overlap tells whether two hosts, each of them a name or *.NAME, have a name in common. A wildcard is taken to have all
// names below it.
func overlap(a, b string) bool {
	under := func(name, wildcard string) bool {
		suffix, is := strings.CutPrefix(wildcard, "*")
		return is && strings.HasSuffix(name, suffix)
	}
	return a == b || under(a, b) || under(b, a)
}

func oneOf(allowed ...string) func(string) bool {
	return func(value string) bool {
		for _, one := range allowed {
			if value == one {
				return true
			}
		}
		return false
	}
}

// listOf allows a list by commas whose items are all allowed.
func listOf(allowed ...string) func(string) bool {
	one := oneOf(allowed...)
	return func(value string) bool {
		for _, item := range strings.Split(value, ",") {
			if !one(strings.TrimSpace(item)) {
				return false
			}
		}
		return true
	}
}
