package ingress

import (
	"context"
	"sort"
	"strings"
	"sync"

	"github.com/traefik/traefik/v2/pkg/log"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
)

// Admission refuses this annotation to tenants: administrators share a host between namespaces by it.
const shared = "traefik.ingress.kubernetes.io/router.priority"

// reported has the hosts that were logged, so that a host is logged once and not at each change of the cluster.
var reported sync.Map

// ownHosts leaves each host to one namespace: that of its oldest Ingress. Admission refuses a host that another namespace
// has, but two API servers that are asked at the same moment both find it free. Ingresses with the annotation shared come
// first and lose nothing.
func ownHosts(ctx context.Context, all []*networkingv1beta1.Ingress) []*networkingv1beta1.Ingress {
	sorted := append([]*networkingv1beta1.Ingress(nil), all...)
	sort.SliceStable(sorted, func(i, j int) bool { return before(sorted[i], sorted[j]) })

	owners := map[string]string{}
	var found []*networkingv1beta1.Ingress
	for _, one := range sorted {
		_, free := one.Annotations[shared]
		var kept []networkingv1beta1.IngressRule
		for _, rule := range one.Spec.Rules {
			host := strings.ToLower(rule.Host)
			if owner := ownerOf(owners, host); !free && host != "" && owner != "" && owner != one.Namespace {
				key := one.Namespace + "/" + one.Name + " " + host + " " + owner
				if _, known := reported.LoadOrStore(key, true); !known {
					log.FromContext(ctx).Warnf("Ingress %s/%s: host %s ignored: an older Ingress of namespace %s has it",
						one.Namespace, one.Name, host, owner)
				}
				continue
			}
			if host != "" && owners[host] == "" {
				owners[host] = one.Namespace
			}
			kept = append(kept, rule)
		}
		// Without any rule an Ingress would be the backend of all hosts.
		if len(kept) == 0 && len(one.Spec.Rules) > 0 {
			continue
		}
		if len(kept) < len(one.Spec.Rules) {
			one = one.DeepCopy()
			one.Spec.Rules = kept
		}
		found = append(found, one)
	}
	return found
}

func before(a, b *networkingv1beta1.Ingress) bool {
	_, first := a.Annotations[shared]
	_, second := b.Annotations[shared]
	if first != second {
		return first
	}
	if !a.CreationTimestamp.Time.Equal(b.CreationTimestamp.Time) {
		return a.CreationTimestamp.Time.Before(b.CreationTimestamp.Time)
	}
	if a.Namespace != b.Namespace {
		return a.Namespace < b.Namespace
	}
	return a.Name < b.Name
}

// ownerOf returns the namespace that has a host, or a wildcard over it, or a name below it where it is a wildcard; "" for
// none. As in admission a wildcard has all names below it.
func ownerOf(owners map[string]string, host string) string {
	if owner := owners[host]; owner != "" {
		return owner
	}
	for rest := strings.TrimPrefix(host, "*."); ; {
		_, below, more := strings.Cut(rest, ".")
		if !more {
			break
		}
		if owner := owners["*."+below]; owner != "" {
			return owner
		}
		rest = below
	}
	suffix, wild := strings.CutPrefix(host, "*")
	if !wild {
		return ""
	}
	names := make([]string, 0, len(owners))
	for name := range owners {
		if strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	if len(names) == 0 {
		return ""
	}
	return owners[names[0]]
}
