package metrics

import (
	"strconv"
	"strings"
	"testing"
)

func TestOnlySoManyCombinationsOfLabelsAreTold(t *testing.T) {
	c := &combinations{known: map[string]struct{}{}}
	for i := 0; i < 2*maxSeries; i++ {
		if held := c.holds("GET", strconv.Itoa(i)); held != (i < maxSeries) {
			t.Fatalf("combination %d: %v", i, held)
		}
	}
	if !c.holds("GET", "0") || c.holds("GET", "other") {
		t.Error("what is known stays known, what is not stays out")
	}
	if len(c.known) != maxSeries {
		t.Errorf("%d are kept", len(c.known))
	}
}

func TestALongLabelIsNotKept(t *testing.T) {
	c := &combinations{known: map[string]struct{}{}}
	if c.holds(strings.Repeat("a", maxLabels+1)) || len(c.known) != 0 {
		t.Error("kept")
	}
}
