package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// place is where a node has what the plug-in reads and hands out.
type place struct {
	proc   string // the driver's folder of GPUs: /proc/driver/nvidia/gpus
	dev    string // the folder of devices
	driver string // the driver's programs (bin) and libraries (lib64), as the role gpu_driver lays them out
}

// gpu is one card.
type gpu struct {
	uuid  string
	minor int    // N of /dev/nvidiaN
	bus   string // PCI address as normal() writes it
	ill   string // why it is not handed out; "" where it is
}

// gpus is what is known of the cards. One that was seen once stays known: without it kubelet would forget who has it.
type gpus struct {
	place place
	say   func(string, ...any)

	lock   sync.Mutex
	cards  map[string]gpu    // by bus
	xids   map[string]string // what the kernel reported, by bus
	unseen map[string]bool   // cards that nvidia-smi left out when it last listed any, by bus
	silent int               // nvidia-smi's failures in a row
}

func newGPUs(p place, say func(string, ...any)) *gpus {
	return &gpus{place: p, say: say, cards: map[string]gpu{}, xids: map[string]string{}, unseen: map[string]bool{}}
}

// patience is how often in a row nvidia-smi may fail before no GPU of this node is handed out.
const patience = 3

var (
	field   = regexp.MustCompile(`(?m)^([A-Za-z ]+):[ \t]*(\S.*?)\s*$`)
	pciForm = regexp.MustCompile(`^(?:[0-9a-f]{4})?([0-9a-f]{4}):([0-9a-f]{2}):([0-9a-f]{2})(?:\.[0-9a-f])?$`)
)

// normal returns a PCI address without its function: /proc says 0000:06:00.0, nvidia-smi 00000000:06:00.0, an Xid 0000:06:00.
func normal(bus string) string {
	parts := pciForm.FindStringSubmatch(strings.ToLower(strings.TrimSpace(bus)))
	if parts == nil {
		return ""
	}
	return strings.Join(parts[1:], ":")
}

// present returns the cards that the driver has in /proc, by bus.
func present(proc string) map[string]gpu {
	found := map[string]gpu{}
	paths, _ := filepath.Glob(filepath.Join(proc, "*", "information"))
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := map[string]string{}
		for _, parts := range field.FindAllStringSubmatch(string(text), -1) {
			fields[parts[1]] = parts[2]
		}
		minor, err := strconv.Atoi(fields["Device Minor"])
		bus := normal(filepath.Base(filepath.Dir(path)))
		if err != nil || bus == "" {
			continue
		}
		uuid := fields["GPU UUID"]
		if strings.Contains(uuid, "?") { // until somebody has used the card
			uuid = ""
		}
		found[bus] = gpu{uuid: uuid, minor: minor, bus: bus}
	}
	return found
}

// listing returns bus to UUID, of the answer to `nvidia-smi --query-gpu=pci.bus_id,uuid --format=csv,noheader`.
func listing(text string) map[string]string {
	found := map[string]string{}
	for _, line := range strings.Split(text, "\n") {
		bus, uuid, ok := strings.Cut(line, ",")
		if key := normal(bus); ok && key != "" && strings.HasPrefix(strings.TrimSpace(uuid), "GPU-") {
			found[key] = strings.TrimSpace(uuid)
		}
	}
	return found
}

// look brings what is known up to date; answered is nvidia-smi's listing, nil where it has not answered, and asked says
// whether it was asked at all.
func (g *gpus) look(answered map[string]string, asked bool) {
	there, lack := present(g.place.proc), g.lack()
	g.lock.Lock()
	defer g.lock.Unlock()
	if asked && len(answered) == 0 {
		g.silent++
	} else if asked {
		g.silent = 0
	}
	for bus, card := range there {
		old, known := g.cards[bus]
		if card.uuid == "" {
			card.uuid = answered[bus]
		}
		if card.uuid == "" && known {
			card.uuid = old.uuid
		}
		if card.uuid != "" { // without a name there is nothing to tell kubelet yet
			card.ill = old.ill
			g.cards[bus] = card
		}
	}
	for bus, card := range g.cards {
		if len(answered) > 0 {
			g.unseen[bus] = answered[bus] == ""
		}
		was := card.ill
		card.ill = g.illness(card, there, lack)
		if card.ill != was {
			g.say("GPU %d (%s, %s): %s", card.minor, card.uuid, bus, describe(card.ill))
		}
		g.cards[bus] = card
	}
}

func describe(ill string) string {
	if ill == "" {
		return "healthy"
	}
	return "not handed out: " + ill
}

func (g *gpus) illness(card gpu, there map[string]gpu, lack string) string {
	if xid := g.xids[card.bus]; xid != "" {
		return xid
	}
	if _, ok := there[card.bus]; !ok {
		return "the driver has it no more"
	}
	if !device(g.card(card.minor)) {
		return g.card(card.minor) + " is missing"
	}
	if lack != "" {
		return lack
	}
	if g.silent >= patience {
		return "nvidia-smi does not answer"
	}
	if g.unseen[card.bus] {
		return "nvidia-smi does not list it"
	}
	return ""
}

// failed notes what the kernel reported of a card; it stays until the kernel's log is cleared and the plug-in started again.
func (g *gpus) failed(bus, xid string) {
	g.lock.Lock()
	defer g.lock.Unlock()
	g.xids[bus] = xid
}

// lack says what this node lacks for any CUDA program; "" where it has all. Unified memory's device above all (K8).
func (g *gpus) lack() string {
	for _, name := range []string{"nvidiactl", "nvidia-uvm"} {
		if path := filepath.Join(g.place.dev, name); !device(path) {
			return path + " is missing"
		}
	}
	// docker would make an empty folder of a path that is not there.
	if path := filepath.Join(g.place.driver, "bin", program); !file(path) {
		return path + " is missing: `avadm apply gpu`"
	}
	return ""
}

func (g *gpus) card(minor int) string {
	return filepath.Join(g.place.dev, "nvidia"+strconv.Itoa(minor))
}

// known returns the cards in the order of their numbers.
func (g *gpus) known() []gpu {
	g.lock.Lock()
	defer g.lock.Unlock()
	found := make([]gpu, 0, len(g.cards))
	for _, card := range g.cards {
		found = append(found, card)
	}
	slices.SortFunc(found, func(a, b gpu) int { return strings.Compare(a.bus, b.bus) })
	return found
}

// node is a device node of the host, and its path in a container.
type node struct{ path, inside string }

// devices returns the device nodes for these cards; an error where one of them is not known or not healthy.
func (g *gpus) devices(ids []string) ([]node, error) {
	if len(ids) == 0 {
		return nil, failed(statusInvalid, "no GPU is asked for")
	}
	if lack := g.lack(); lack != "" {
		return nil, failed(statusPrecondition, "%s", lack)
	}
	known := g.known()
	var names []string
	for _, id := range ids {
		at := slices.IndexFunc(known, func(card gpu) bool { return card.uuid == id })
		if at < 0 {
			return nil, failed(statusNotFound, "there is no GPU %s", id)
		}
		if card := known[at]; card.ill != "" || !device(g.card(card.minor)) {
			return nil, failed(statusPrecondition, "GPU %s: %s", id, describe(card.ill))
		}
		names = append(names, filepath.Base(g.card(known[at].minor)))
	}
	names = append(names, "nvidiactl", "nvidia-uvm")
	if device(filepath.Join(g.place.dev, "nvidia-uvm-tools")) {
		names = append(names, "nvidia-uvm-tools")
	}
	found := make([]node, len(names))
	for i, name := range names {
		found[i] = node{filepath.Join(g.place.dev, name), "/dev/" + name}
	}
	return found, nil
}

// device says whether a path is a character device; a test has it look at something else.
var device = func(path string) bool {
	about, err := os.Stat(path)
	return err == nil && about.Mode()&os.ModeCharDevice != 0
}

func file(path string) bool {
	about, err := os.Stat(path)
	return err == nil && about.Mode().IsRegular()
}
