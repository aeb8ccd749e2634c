package dockershim

import (
	"reflect"
	"testing"

	dockercontainer "github.com/docker/docker/api/types/container"

	runtimeapi "k8s.io/kubernetes/pkg/kubelet/apis/cri/runtime/v1alpha2"
)

func TestGroupsAreThePodsAndNotTheImages(t *testing.T) {
	uid := &runtimeapi.Int64Value{Value: 20001}
	for name, c := range map[string]struct {
		sc     runtimeapi.LinuxContainerSecurityContext
		user   string
		groups []string
	}{
		"group": {runtimeapi.LinuxContainerSecurityContext{RunAsUser: uid, SupplementalGroups: []int64{3001, 3001}}, "20001:3001", nil},
		"several groups": {runtimeapi.LinuxContainerSecurityContext{RunAsUser: uid, SupplementalGroups: []int64{3001, 3002, 3001, 3003}},
			"20001:3001", []string{"3002", "3003"}},
		"runAsGroup": {runtimeapi.LinuxContainerSecurityContext{RunAsUser: uid, RunAsGroup: &runtimeapi.Int64Value{Value: 3005},
			SupplementalGroups: []int64{3001, 3005}}, "20001:3005", []string{"3001"}},
		"none": {runtimeapi.LinuxContainerSecurityContext{RunAsUser: uid}, "20001", nil},
		"named user": {runtimeapi.LinuxContainerSecurityContext{RunAsUsername: "app", SupplementalGroups: []int64{3001}},
			"app", []string{"3001"}},
		"image's user": {runtimeapi.LinuxContainerSecurityContext{SupplementalGroups: []int64{3001}}, "", []string{"3001"}},
	} {
		sc := c.sc
		config, host := &dockercontainer.Config{}, &dockercontainer.HostConfig{}
		lc := &runtimeapi.LinuxContainerConfig{SecurityContext: &sc}
		if err := applyContainerSecurityContext(lc, "sandbox", config, host, ':'); err != nil {
			t.Fatal(err)
		}
		if config.User != c.user || !reflect.DeepEqual(host.GroupAdd, c.groups) {
			t.Errorf("%s: user %q with %v, expected %q with %v", name, config.User, host.GroupAdd, c.user, c.groups)
		}
	}
}
