package core

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/scheduler/algorithm"
	"k8s.io/kubernetes/pkg/scheduler/algorithm/predicates"
	"k8s.io/kubernetes/pkg/scheduler/schedulercache"
)

const none = time.Duration(1 << 62)

// onNode returns a pod of one CPU on the node "worker" whose grace period ends in so long.
func onNode(name string, priority int32, ends time.Duration) *v1.Pod {
	pod := &v1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: v1.PodSpec{
			NodeName: "worker",
			Priority: &priority,
			Containers: []v1.Container{{Resources: v1.ResourceRequirements{
				Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")},
			}}},
		},
	}
	if ends != none {
		at := metav1.NewTime(time.Now().Add(ends))
		pod.DeletionTimestamp = &at
	}
	return pod
}

func TestPodsThatEndSoonComeBeforeVictims(t *testing.T) {
	for _, c := range []struct {
		title   string
		ends    time.Duration
		victims []string
	}{
		{"runs on", none, []string{"run"}},
		{"ends in 20 s", 20 * time.Second, nil},
		{"should have ended a moment ago", -5 * time.Second, nil},
		{"ends in an hour", time.Hour, []string{"run"}},
		{"is stuck for an hour", -time.Hour, []string{"run"}},
	} {
		node := &v1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: "worker"},
			Status: v1.NodeStatus{Allocatable: v1.ResourceList{
				v1.ResourceCPU: resource.MustParse("2"), v1.ResourcePods: resource.MustParse("10"),
			}},
		}
		info := schedulercache.NewNodeInfo(onNode("part-of-old", 1000, c.ends), onNode("run", 0, none))
		if err := info.SetNode(node); err != nil {
			t.Fatal(err)
		}
		part := onNode("part-of-new", 1000, none)
		part.Spec.NodeName = ""
		victims, _, fits := selectVictimsOnNode(part, nil, info,
			map[string]algorithm.FitPredicate{predicates.PodFitsResourcesPred: predicates.PodFitsResources}, nil, nil)
		var names []string
		for _, victim := range victims {
			names = append(names, victim.Name)
		}
		if !fits || fmt.Sprint(names) != fmt.Sprint(c.victims) {
			t.Errorf("the old part %s: fits %v, victims %v, expected %v", c.title, fits, names, c.victims)
		}
	}
}
