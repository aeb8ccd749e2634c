package insertutils

import (
	"flag"
	"fmt"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/VictoriaMetrics/VictoriaMetrics/lib/flagutil"
	"github.com/VictoriaMetrics/VictoriaMetrics/lib/logstorage"
)

var (
	podRate        = flagutil.NewBytes("insert.podBytesPerSecond", 0, "Bytes a second of log entries of one pod (fields namespace and pod) that are kept; the others are dropped. 0 for no limit")
	podBurst       = flagutil.NewBytes("insert.podBurstBytes", 0, "Bytes of one pod that are kept beyond -insert.podBytesPerSecond, after a time without logs")
	namespaceRate  = flagutil.NewBytes("insert.namespaceBytesPerSecond", 0, "As -insert.podBytesPerSecond, of all pods of a namespace")
	namespaceBurst = flagutil.NewBytes("insert.namespaceBurstBytes", 0, "As -insert.podBurstBytes, of all pods of a namespace")
	reportInterval = flag.Duration("insert.limitReportInterval", time.Minute, "While entries of a pod are dropped, an entry of its log says so at this interval")
)

// mostBuckets bounds the memory: beyond it those that have nothing to remember go first, then all.
const mostBuckets = 100000

// bucket is what a pod or a namespace may still write.
type bucket struct {
	left float64
	seen time.Time

	dropped  uint64
	bytes    uint64
	reported time.Time
}

func (b *bucket) fill(now time.Time, rate, burst float64) {
	if passed := now.Sub(b.seen).Seconds(); passed > 0 {
		b.left = min(burst, b.left+passed*rate)
		b.seen = now
	}
}

// limiter keeps the rates of all pods and namespaces.
type limiter struct {
	mu      sync.Mutex
	buckets map[string]*bucket
}

var limits = limiter{buckets: map[string]*bucket{}}

// admit returns whether an entry of n bytes is kept, and where it is not sometimes the text of an entry that says so.
// Entries without a namespace are the machines' own and are all kept. A pod's rate is that at which it wrote: what a node has kept
// while the store was unreachable comes all at once.
func (l *limiter) admit(fields []logstorage.Field, n int, written, now time.Time) (bool, string) {
	if podRate.N <= 0 && namespaceRate.N <= 0 {
		return true, ""
	}
	namespace, pod := "", ""
	for _, f := range fields {
		switch f.Name {
		case "namespace":
			namespace = f.Value
		case "pod":
			pod = f.Value
		}
	}
	if namespace == "" {
		return true, ""
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if written.After(now) {
		written = now
	}
	own := l.get(namespace+"/"+pod, written, podRate, podBurst)
	all := l.get(namespace, now, namespaceRate, namespaceBurst)
	size := float64(n)
	what := ""
	if podRate.N > 0 && own.left < size {
		what = fmt.Sprintf("this pod writes more than %s a second", podRate.String())
	} else if namespaceRate.N > 0 && all.left < size {
		what = fmt.Sprintf("the pods of namespace %s write more than %s a second", namespace, namespaceRate.String())
	}
	if what == "" {
		own.left -= size
		all.left -= size
		return true, ""
	}
	metrics.GetOrCreateCounter(`vl_rows_dropped_total{reason="rate_limit"}`).Inc()
	first := own.reported.IsZero() || now.Sub(own.reported) >= 10**reportInterval
	own.dropped++
	own.bytes += uint64(n)
	if !first && now.Sub(own.reported) < *reportInterval {
		return false, ""
	}
	text := fmt.Sprintf("Log limit: %s; the lines beyond are left out of the kept log.", what)
	if !first {
		text = fmt.Sprintf("Log limit: %d lines (%d bytes) were left out since the last such line: %s.", own.dropped, own.bytes, what)
	}
	own.dropped, own.bytes, own.reported = 0, 0, now
	return false, text
}

func (l *limiter) get(key string, now time.Time, rate, burst *flagutil.Bytes) *bucket {
	found := l.buckets[key]
	if found == nil {
		if len(l.buckets) >= mostBuckets {
			l.prune(now)
		}
		found = &bucket{left: float64(burst.N), seen: now}
		l.buckets[key] = found
	}
	found.fill(now, float64(rate.N), float64(burst.N))
	return found
}

// prune forgets what has written nothing for a while; where that is nothing, all: a flood of names gains a burst by it.
func (l *limiter) prune(now time.Time) {
	for key, one := range l.buckets {
		if now.Sub(one.seen) > 10*time.Minute {
			delete(l.buckets, key)
		}
	}
	if len(l.buckets) >= mostBuckets {
		l.buckets = map[string]*bucket{}
	}
}

// reported returns a copy of an entry's fields with another text.
func withText(fields []logstorage.Field, text string) []logstorage.Field {
	found := make([]logstorage.Field, 0, len(fields))
	for _, f := range fields {
		switch f.Name {
		case "_msg":
			f.Value = text
		case "severity":
			f.Value = "warning"
		}
		found = append(found, f)
	}
	return found
}
