package insertutils

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/VictoriaMetrics/VictoriaMetrics/lib/logstorage"
)

func entry(namespace, pod string) []logstorage.Field {
	return []logstorage.Field{{Name: "namespace", Value: namespace}, {Name: "pod", Value: pod}, {Name: "_msg", Value: "x"}}
}

func set(t *testing.T, pod, podMore, namespace, namespaceMore int64) *limiter {
	t.Helper()
	podRate.N, podBurst.N, namespaceRate.N, namespaceBurst.N = pod, podMore, namespace, namespaceMore
	t.Cleanup(func() { podRate.N, podBurst.N, namespaceRate.N, namespaceBurst.N = 0, 0, 0, 0 })
	return &limiter{buckets: map[string]*bucket{}}
}

var start = time.Unix(1700000000, 0)

func TestABurstIsKeptWholeAndAFloodCutAtTheRate(t *testing.T) {
	l := set(t, 1000, 1000000, 0, 0)
	for i := 0; i < 10000; i++ {
		if ok, _ := l.admit(entry("a", "p"), 100, start, start); !ok {
			t.Fatalf("line %d of a burst is dropped", i)
		}
	}
	kept, dropped, texts := 0, 0, []string{}
	for second := 0; second < 600; second++ {
		for i := 0; i < 1000; i++ {
			at := start.Add(time.Duration(second) * time.Second)
			ok, text := l.admit(entry("a", "p"), 100, at, at)
			if ok {
				kept++
			} else {
				dropped++
			}
			if text != "" {
				texts = append(texts, text)
			}
		}
	}
	if kept != 599*10 {
		t.Errorf("%d lines of a flood are kept, expected %d: 1000 bytes a second", kept, 599*10)
	}
	if len(texts) != 10 || !strings.Contains(texts[0], "the lines beyond") || !strings.Contains(texts[1], " lines (") {
		t.Errorf("expected one line a minute, of which the first announces it: %q", texts)
	}
	reported := 1
	for _, text := range texts[1:] {
		n := 0
		if _, err := fmt.Sscanf(text, "Log limit: %d lines", &n); err != nil {
			t.Fatal(err)
		}
		reported += n
	}
	if reported > dropped || reported < dropped*8/10 {
		t.Errorf("%d lines are reported of %d", reported, dropped)
	}
}

func TestAFloodOfOnePodTakesNothingFromAnotherNorFromTheMachines(t *testing.T) {
	l := set(t, 1000, 10000, 0, 0)
	for i := 0; i < 1000; i++ {
		l.admit(entry("a", "flood"), 100, start, start)
	}
	for _, fields := range [][]logstorage.Field{entry("a", "calm"), entry("b", "flood"), entry("", "")} {
		if ok, _ := l.admit(fields, 100, start, start); !ok {
			t.Errorf("%v is dropped", fields)
		}
	}
	if ok, _ := l.admit(entry("a", "flood"), 100, start.Add(time.Minute), start.Add(time.Minute)); !ok {
		t.Error("after the flood its lines are kept again")
	}
}

func TestWhatWasWrittenWhileTheStoreWasAwayIsKept(t *testing.T) {
	l := set(t, 1000, 10000, 0, 0)
	back := start.Add(time.Hour)
	for second := 0; second < 3600; second++ {
		if ok, _ := l.admit(entry("a", "p"), 900, start.Add(time.Duration(second)*time.Second), back); !ok {
			t.Fatalf("what was written in second %d is dropped", second)
		}
	}
	if ok, _ := l.admit(entry("a", "p"), 20000, back.Add(time.Hour), back); ok {
		t.Error("a time to come fills the bucket")
	}
}

func TestManyPodsOfANamespaceAreBoundTogether(t *testing.T) {
	l := set(t, 1000, 10000, 2000, 20000)
	kept := 0
	for i := 0; i < 100; i++ {
		for j := 0; j < 100; j++ {
			if ok, text := l.admit(entry("a", fmt.Sprint("p", i)), 100, start, start); ok {
				kept++
			} else if text != "" && !strings.Contains(text, "namespace a") && i > 1 {
				t.Fatal(text)
			}
		}
	}
	if kept != 200 {
		t.Errorf("%d lines are kept, expected 200", kept)
	}
	if ok, _ := l.admit(entry("b", "p"), 100, start, start); !ok {
		t.Error("another namespace is dropped")
	}
}

func TestWithoutALimitNothingIsDroppedAndNamesTakeBoundedMemory(t *testing.T) {
	l := set(t, 0, 0, 0, 0)
	if ok, _ := l.admit(entry("a", "p"), 1<<30, start, start); !ok || len(l.buckets) > 0 {
		t.Error("an unset limit")
	}
	l = set(t, 1, 100, 0, 0)
	for i := 0; i < mostBuckets+10; i++ {
		l.admit(entry("a", fmt.Sprint(i)), 1, start, start)
	}
	if len(l.buckets) > mostBuckets+1 {
		t.Errorf("%d buckets", len(l.buckets))
	}
}

func TestTheLineInTheLogIsOfTheSamePod(t *testing.T) {
	fields := append(entry("a", "p"), logstorage.Field{Name: "severity", Value: "info"})
	got := fmt.Sprint(withText(fields, "text"))
	if got != `[{namespace a} {pod p} {_msg text} {severity warning}]` && !strings.Contains(got, "text") {
		t.Error(got)
	}
	if fields[2].Value != "x" {
		t.Error("the entry itself was changed")
	}
}
