package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestWhoeverSetsTheVariableGetsWhatItSays(t *testing.T) {
	there := []gpu{{0, false}, {1, false}, {3, false}}
	for env, wanted := range map[string]string{
		"":                                      "no",
		"PATH=/bin":                             "no",
		"NVIDIA_VISIBLE_DEVICES=":               "no",
		"NVIDIA_VISIBLE_DEVICES=void":           "no",
		"NVIDIA_VISIBLE_DEVICES=none":           "nvidiactl",
		"NVIDIA_VISIBLE_DEVICES=all":            "nvidia0 nvidia1 nvidia3 nvidiactl",
		"NVIDIA_VISIBLE_DEVICES=3,GPU-fake-0,7": "nvidia3 nvidia0 nvidiactl",
		"CUDA_VERSION=9.0.176":                  "nvidia0 nvidia1 nvidia3 nvidiactl",
		"CUDA_VERSION=9.0.176 NVIDIA_REQUIRE_CUDA=cuda>=9.0": "no",
		"CUDA_VERSION=9.0.176 NVIDIA_VISIBLE_DEVICES=none":   "nvidiactl",
	} {
		listed, _ := json.Marshal(strings.Fields(env))
		var spec map[string]any
		text := fmt.Sprintf(`{"process": {"env": %s}, "linux": {"resources": {"devices": [{"allow": false, "access": "rwm"}]}}}`, listed)
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		if !extend(spec, there) {
			if wanted != "no" {
				t.Errorf("%s: nothing", env)
			}
			continue
		}
		var names []string
		for _, device := range list(inner(spec, "linux")["devices"]) {
			names = append(names, strings.TrimPrefix(device.(map[string]any)["path"].(string), "/dev/"))
		}
		if reply := strings.Join(names, " "); reply != wanted {
			t.Errorf("%s: %s, wanted %s", env, reply, wanted)
		}
		rules := list(inner(inner(spec, "linux"), "resources")["devices"])
		if len(rules) != 1+len(names) || rules[0].(map[string]any)["allow"] != false {
			t.Errorf("%s: %v", env, rules)
		}
	}
}

func TestTheBundleIsFoundInRuncsArguments(t *testing.T) {
	for args, wanted := range map[string]string{
		"--log l create --bundle /b --pid-file p id": "/b",
		"create --bundle=/c id":                      "/c",
		"run -b /d id":                               "/d",
		"create id":                                  ".",
	} {
		if reply := bundle(strings.Fields(args)); reply != wanted {
			t.Errorf("%s: %s", args, reply)
		}
	}
}
