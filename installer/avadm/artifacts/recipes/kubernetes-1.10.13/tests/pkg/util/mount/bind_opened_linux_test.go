package mount

import (
	"fmt"
	"io/ioutil"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// What was opened is mounted, whatever lies at its path by then.
func TestWhatWasOpenedIsMounted(t *testing.T) {
	base := t.TempDir()
	wanted, secret, target := filepath.Join(base, "wanted"), filepath.Join(base, "secret"), filepath.Join(base, "target")
	for _, folder := range []string{wanted, secret, target} {
		if err := os.Mkdir(folder, 0755); err != nil {
			t.Fatal(err)
		}
		if err := ioutil.WriteFile(filepath.Join(folder, "name"), []byte(filepath.Base(folder)), 0644); err != nil {
			t.Fatal(err)
		}
	}
	fd, err := syscall.Open(wanted, 0x200000|syscall.O_CLOEXEC, 0) // O_PATH
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(fd)
	// Its path leads to something else by then. (A hostile pod swaps a link in the moment after mount(8) has read the path,
	// which no test can hit for certain; a mount over it is the same to mount(8).)
	err = syscall.Mount(secret, wanted, "", syscall.MS_BIND, "")
	if err == syscall.EPERM {
		t.Skip("this machine does not let us mount")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(wanted, 0)
	err = bindOpened(New(""), fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), fd), target)
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Unmount(target, 0)
	if got, _ := ioutil.ReadFile(filepath.Join(target, "name")); string(got) != "wanted" {
		t.Errorf("mounted is %q", got)
	}
}
