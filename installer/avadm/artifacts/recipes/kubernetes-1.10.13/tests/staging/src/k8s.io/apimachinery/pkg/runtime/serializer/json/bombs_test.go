package json

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ghodss/yaml"
)

func TestAYAMLBombIsRefusedAtOnce(t *testing.T) {
	bomb := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := 1; i < 12; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [%s*a%d]\n", i, i, strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 8), i-1)
	}
	begun := time.Now()
	if _, err := yaml.YAMLToJSON([]byte(bomb)); err == nil || !strings.Contains(err.Error(), "excessive aliasing") {
		t.Errorf("not refused: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestADeepDocumentIsRefused(t *testing.T) {
	deep := strings.Repeat("[", 1000000)
	if _, err := yaml.YAMLToJSON([]byte(deep)); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("yaml: %v", err)
	}
	nested := `{"kind":"Pod","apiVersion":"v1","x":` + deep + strings.Repeat("]", 1000000) + "}"
	if _, err := (SimpleMetaFactory{}).Interpret([]byte(nested)); err == nil || !strings.Contains(err.Error(), "depth") {
		t.Errorf("json: %v", err)
	}
}

func TestAliasesOfUsualSizeStayAllowed(t *testing.T) {
	got, err := yaml.YAMLToJSON([]byte("a: &a {b: 1}\nc: *a\n"))
	if err != nil || string(got) != `{"a":{"b":1},"c":{"b":1}}` {
		t.Errorf("%s %v", got, err)
	}
}
