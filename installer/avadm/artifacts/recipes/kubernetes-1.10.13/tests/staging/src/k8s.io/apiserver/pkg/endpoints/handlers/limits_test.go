package handlers

import (
	"net/http"
	"strings"
	"testing"

	"github.com/evanphx/json-patch"

	"k8s.io/apimachinery/pkg/api/errors"
)

func status(err error) int32 {
	if known, ok := err.(errors.APIStatus); ok {
		return known.Status().Code
	}
	return 0
}

func TestABodyIsReadUpToItsLimit(t *testing.T) {
	for size, wanted := range map[int]int32{maxBodySize: 0, maxBodySize + 1: http.StatusRequestEntityTooLarge} {
		req, _ := http.NewRequest("POST", "http://x/", strings.NewReader(strings.Repeat("a", size)))
		body, err := readBody(req)
		if status(err) != wanted || (err == nil && len(body) != size) {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}

func TestAPatchHasAtMostSoManyOperations(t *testing.T) {
	operation := `{"op":"test","path":"/a","value":1}`
	for count, wanted := range map[int]int32{1: 0, maxPatchOperations: 0, maxPatchOperations + 1: http.StatusRequestEntityTooLarge} {
		patch := "[" + strings.Repeat(operation+",", count-1) + operation + "]"
		if err := checkPatchOperations([]byte(patch)); status(err) != wanted {
			t.Errorf("%d operations: %v", count, err)
		}
	}
	for _, other := range []string{"", "{}", "[", "null", "[1,"} {
		if err := checkPatchOperations([]byte(other)); err != nil {
			t.Errorf("%q: %v", other, err)
		}
	}
}

func TestCopiesCannotDoubleAnObjectWithoutEnd(t *testing.T) {
	copies := `{"op":"copy","from":"/a","path":"/b"},{"op":"copy","from":"/b","path":"/a/-"}`
	patch, err := jsonpatch.DecodePatch([]byte("[" + copies + strings.Repeat(","+copies, 40) + "]"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = patch.Apply([]byte(`{"a":["` + strings.Repeat("x", 1000) + `"]}`))
	if _, ok := err.(*jsonpatch.AccumulatedCopySizeError); !ok {
		t.Errorf("not refused for its size: %v", err)
	}
}
