package priority

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/cache"
	api "k8s.io/kubernetes/pkg/apis/core"
	schedulinglisters "k8s.io/kubernetes/pkg/client/listers/scheduling/internalversion"
	"k8s.io/kubernetes/pkg/features"
)

func TestSystemClassesAreForSystemNamespaces(t *testing.T) {
	utilfeature.DefaultFeatureGate.Set(string(features.PodPriority) + "=true")
	none := schedulinglisters.NewPriorityClassLister(cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{}))
	for _, c := range []struct {
		namespace, class string
		allowed          bool
	}{
		{"kube-system", "system-node-critical", true},
		{"ava-system", "system-cluster-critical", true},
		{"team", "system-node-critical", false},
		{"team", "system-cluster-critical", false},
		{"team-ava-system", "system-cluster-critical", false},
		{"team", "", true},
	} {
		plugin := newPlugin()
		plugin.lister = none
		pod := &api.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: c.namespace},
			Spec:       api.PodSpec{PriorityClassName: c.class},
		}
		err := plugin.Admit(admission.NewAttributesRecord(pod, nil, api.Kind("Pod").WithVersion("version"), c.namespace, "p",
			api.Resource("pods").WithVersion("version"), "", admission.Create, nil))
		if c.allowed && err != nil {
			t.Errorf("%s in %s: %v", c.class, c.namespace, err)
		}
		if !c.allowed && (err == nil || !strings.Contains(err.Error(), "reserved")) {
			t.Errorf("%s in %s: allowed", c.class, c.namespace)
		}
	}
}
