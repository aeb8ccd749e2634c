package dockershim

import (
	"testing"

	"github.com/blang/semver"
	dockertypes "github.com/docker/docker/api/types"
	dockercontainer "github.com/docker/docker/api/types/container"

	runtimeapi "k8s.io/kubernetes/pkg/kubelet/apis/cri/runtime/v1alpha2"
)

func TestProcessesAreBounded(t *testing.T) {
	version := semver.MustParse("1.41.0")
	for name, c := range map[string]struct {
		linux *runtimeapi.LinuxContainerConfig
		limit int64
	}{
		"plain":          {&runtimeapi.LinuxContainerConfig{}, 16384},
		"with resources": {&runtimeapi.LinuxContainerConfig{Resources: &runtimeapi.LinuxContainerResources{MemoryLimitInBytes: 1 << 30}}, 16384},
		"privileged": {&runtimeapi.LinuxContainerConfig{
			SecurityContext: &runtimeapi.LinuxContainerSecurityContext{Privileged: true}}, 0},
	} {
		wanted := &dockertypes.ContainerCreateConfig{Config: &dockercontainer.Config{}, HostConfig: &dockercontainer.HostConfig{}}
		given := &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "c"}, Linux: c.linux}
		err := (&dockerService{}).updateCreateConfig(wanted, given, &runtimeapi.PodSandboxConfig{}, "sandbox", ':', &version)
		if err != nil {
			t.Fatal(err)
		}
		if wanted.HostConfig.PidsLimit != c.limit {
			t.Errorf("%s: %d processes, expected %d", name, wanted.HostConfig.PidsLimit, c.limit)
		}
	}
}
