package ingress

import (
	"context"
	"fmt"
	"math/rand"
	"testing"
	"time"

	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func made(second int, namespace string, notes map[string]string, hosts ...string) *networkingv1beta1.Ingress {
	one := &networkingv1beta1.Ingress{}
	one.Namespace, one.Name, one.Annotations = namespace, "x", notes
	one.CreationTimestamp = metav1.NewTime(time.Unix(1700000000+int64(second), 0))
	one.Spec.Backend = &networkingv1beta1.IngressBackend{ServiceName: "web"}
	for _, host := range hosts {
		one.Spec.Rules = append(one.Spec.Rules, networkingv1beta1.IngressRule{Host: host})
	}
	return one
}

// served returns which namespaces get a host's requests, whatever the order in which the Ingresses are listed.
func served(t *testing.T, all ...*networkingv1beta1.Ingress) string {
	t.Helper()
	last := ""
	for i := 0; i < 20; i++ {
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		text := ""
		for _, one := range ownHosts(context.Background(), all) {
			if len(one.Spec.Rules) == 0 {
				t.Fatal("an Ingress without its rules is the backend of all hosts")
			}
			for _, rule := range one.Spec.Rules {
				text += fmt.Sprintf("%s=%s ", rule.Host, one.Namespace)
			}
		}
		if last != "" && text != last {
			t.Fatalf("first %q, then %q", last, text)
		}
		last = text
	}
	return last
}

func TestAHostOfTwoNamespacesIsTheOldersAlone(t *testing.T) {
	priority := map[string]string{shared: "7"}
	for name, one := range map[string]struct {
		all  []*networkingv1beta1.Ingress
		want string
	}{
		"older": {
			[]*networkingv1beta1.Ingress{made(2, "a", nil, "h.test"), made(1, "b", nil, "h.test")}, "h.test=b "},
		"same second": {
			[]*networkingv1beta1.Ingress{made(1, "b", nil, "h.test"), made(1, "a", nil, "h.test")}, "h.test=a "},
		"other hosts stay": {
			[]*networkingv1beta1.Ingress{made(1, "b", nil, "h.test"), made(2, "a", nil, "h.test", "i.test")},
			"h.test=b i.test=a "},
		"capitals": {
			[]*networkingv1beta1.Ingress{made(1, "b", nil, "h.test"), made(2, "a", nil, "H.Test")}, "h.test=b "},
		"below a wildcard": {
			[]*networkingv1beta1.Ingress{made(1, "b", nil, "*.h.test"), made(2, "a", nil, "x.y.h.test")}, "*.h.test=b "},
		"wildcard over a name": {
			[]*networkingv1beta1.Ingress{made(1, "b", nil, "x.h.test"), made(2, "a", nil, "*.h.test")}, "x.h.test=b "},
		"another name": {
			[]*networkingv1beta1.Ingress{made(1, "b", nil, "*.h.test"), made(2, "a", nil, "h.test", "xh.test")},
			"*.h.test=b h.test=a xh.test=a "},
		"one namespace": {
			[]*networkingv1beta1.Ingress{made(1, "a", nil, "h.test"), made(2, "a", nil, "h.test")}, "h.test=a h.test=a "},
		"the administrator's": {
			[]*networkingv1beta1.Ingress{made(1, "a", nil, "h.test"), made(2, "b", priority, "h.test"),
				made(3, "c", priority, "h.test")}, "h.test=b h.test=c "},
		"every host": {
			[]*networkingv1beta1.Ingress{made(1, "a", nil, ""), made(2, "b", nil, "", "h.test")}, "=a =b h.test=b "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := served(t, one.all...); got != one.want {
				t.Errorf("got %q, expected %q", got, one.want)
			}
		})
	}
}
