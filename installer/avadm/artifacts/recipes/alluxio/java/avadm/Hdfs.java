package avadm;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.security.AccessControlException;

/**
 * Hadoop's client of HDFS, which says it when no namenode answers in a way that Alluxio 2.9.6 hands on to who asks.
 *
 * <p>Alluxio takes an IOException of a file's status for a file that is no more, and forgets what it has cached of it
 * (BaseUnderFileSystem.getParsedFingerprint, InodeSyncStream.syncExistingInodeMetadata): an HDFS that does not answer
 * would look empty. Errors of its S3 under store are no IOExceptions, and come through; so do these.
 */
public class Hdfs extends DistributedFileSystem {
  @Override
  public FileStatus getFileStatus(Path path) throws IOException {
    try {
      return super.getFileStatus(path);
    } catch (FileNotFoundException | AccessControlException error) {
      throw error;
    } catch (IOException error) {
      throw new UncheckedIOException(error.getMessage(), error);
    }
  }

  @Override
  public FileStatus[] listStatus(Path path) throws IOException {
    try {
      return super.listStatus(path);
    } catch (FileNotFoundException | AccessControlException error) {
      throw error;
    } catch (IOException error) {
      throw new UncheckedIOException(error.getMessage(), error);
    }
  }
}
