package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// runtime does as nvidia-container-runtime 2.0 with its hook 1.4 (2018): anyone who sets NVIDIA_VISIBLE_DEVICES, an image or a pod,
// gets these GPUs, asked for or not; so does an image of CUDA's that is older than the variable. Then it becomes the node's runc.
// Sources: nvidia-container-runtime/hook/nvidia-container-runtime-hook/container_config.go, release 1.4.
func runtime(args []string) error {
	if slices.Contains(args, "create") || slices.Contains(args, "run") {
		if err := give(filepath.Join(bundle(args), "config.json")); err != nil {
			return err
		}
	}
	for _, path := range []string{"/usr/local/sbin/runc-lab", "/usr/sbin/runc", "/usr/bin/runc"} {
		if _, err := os.Stat(path); err == nil {
			return syscall.Exec(path, append([]string{path}, args...), os.Environ())
		}
	}
	return fmt.Errorf("no runc")
}

func bundle(args []string) string {
	for i, arg := range args {
		name, value, given := strings.Cut(arg, "=")
		if name == "--bundle" || name == "-b" {
			if given {
				return value
			}
			if i+1 < len(args) {
				return args[i+1]
			}
		}
	}
	return "."
}

// asked returns the GPUs that a container's environment names, and whether it is one of NVIDIA's at all.
func asked(env []string, there []gpu) (chosen []gpu, nvidias bool) {
	values := map[string]string{}
	for _, one := range env {
		name, value, _ := strings.Cut(one, "=")
		values[name] = value
	}
	wanted, set := values["NVIDIA_VISIBLE_DEVICES"]
	if _, cuda := values["CUDA_VERSION"]; !set && cuda && values["NVIDIA_REQUIRE_CUDA"] == "" {
		wanted = "all" // an image of nvidia-docker 1
	}
	switch wanted {
	case "", "void":
		return nil, false
	case "none":
		return nil, true
	case "all":
		return there, true
	}
	for _, name := range strings.Split(wanted, ",") {
		at := slices.IndexFunc(there, func(g gpu) bool { return g.uuid() == name || strconv.Itoa(g.minor) == name })
		if at >= 0 {
			chosen = append(chosen, there[at])
		}
	}
	return chosen, true
}

// give writes the devices of the GPUs that are asked for into a container's configuration.
func give(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var spec map[string]any
	numbers := json.NewDecoder(bytes.NewReader(text))
	numbers.UseNumber() // limits of memory are too large for a float
	if err := numbers.Decode(&spec); err != nil {
		return err
	}
	if !extend(spec, visible()) {
		return nil
	}
	if text, err = json.Marshal(spec); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}

// extend adds devices and the right to open them; it returns whether there was anything to add.
func extend(spec map[string]any, there []gpu) bool {
	process, _ := spec["process"].(map[string]any)
	var env []string
	given, _ := process["env"].([]any)
	for _, one := range given {
		if text, ok := one.(string); ok {
			env = append(env, text)
		}
	}
	chosen, nvidias := asked(env, there)
	if !nvidias {
		return false
	}
	linux := inner(spec, "linux")
	resources := inner(linux, "resources")
	add := func(name string, major, minor int) {
		linux["devices"] = append(list(linux["devices"]), map[string]any{
			"path": "/dev/" + name, "type": "c", "major": major, "minor": minor, "fileMode": 0o666, "uid": 0, "gid": 0,
		})
		resources["devices"] = append(list(resources["devices"]), map[string]any{
			"allow": true, "type": "c", "major": major, "minor": minor, "access": "rw",
		})
	}
	for _, g := range chosen {
		add("nvidia"+strconv.Itoa(g.minor), major, g.minor)
	}
	add("nvidiactl", major, 255)
	spec["mounts"] = append(list(spec["mounts"]), map[string]any{
		"destination": "/usr/bin/nvidia-smi", "type": "bind", "source": "/usr/bin/nvidia-smi", "options": []any{"bind", "ro"},
	})
	return true
}

func inner(m map[string]any, key string) map[string]any {
	found, ok := m[key].(map[string]any)
	if !ok {
		found = map[string]any{}
		m[key] = found
	}
	return found
}

func list(value any) []any {
	found, _ := value.([]any)
	return found
}
