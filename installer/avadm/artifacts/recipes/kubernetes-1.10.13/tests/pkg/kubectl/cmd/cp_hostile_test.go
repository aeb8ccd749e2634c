package cmd

import (
	"archive/tar"
	"bytes"
	"io/ioutil"
	"os"
	"path/filepath"
	"testing"
)

func archive(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	var out bytes.Buffer
	writer := tar.NewWriter(&out)
	for _, h := range headers {
		header := h
		header.Mode = 0755
		if header.Typeflag == tar.TypeReg {
			header.Size = 4
		}
		if err := writer.WriteHeader(&header); err != nil {
			t.Fatal(err)
		}
		if header.Typeflag == tar.TypeReg {
			writer.Write([]byte("evil"))
		}
	}
	writer.Close()
	return &out
}

func TestAHostileContainerWritesOnlyWhereItIsTold(t *testing.T) {
	for _, kind := range []byte{tar.TypeSymlink, tar.TypeLink} {
		base := t.TempDir()
		outside, dest := filepath.Join(base, "outside"), filepath.Join(base, "dest")
		os.Mkdir(outside, 0755)
		os.Mkdir(dest, 0755)
		ioutil.WriteFile(filepath.Join(outside, "file"), []byte("good"), 0644)
		err := untarAll(archive(t,
			tar.Header{Name: "src/", Typeflag: tar.TypeDir},
			tar.Header{Name: "src/link", Linkname: outside, Typeflag: kind},
			tar.Header{Name: "src/../../outside/file", Typeflag: tar.TypeReg},
			tar.Header{Name: "src/link/file", Typeflag: tar.TypeReg},
			tar.Header{Name: "src/wanted", Typeflag: tar.TypeReg},
		), dest, "src")
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := ioutil.ReadFile(filepath.Join(outside, "file")); string(got) != "good" {
			t.Errorf("outside was written: %q", got)
		}
		if got, _ := ioutil.ReadFile(filepath.Join(dest, "wanted")); string(got) != "evil" {
			t.Errorf("the file that was asked for: %q", got)
		}
	}
}

func TestANameOfElsewhereIsRefused(t *testing.T) {
	for _, name := range []string{"other/file", "s"} {
		if err := untarAll(archive(t, tar.Header{Name: name, Typeflag: tar.TypeReg}), t.TempDir(), "src"); err == nil {
			t.Errorf("%q was taken", name)
		}
	}
}
