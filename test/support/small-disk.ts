import { spawnSync } from "node:child_process";

/** Mounts of our own, which nobody else sees and which are gone with the process. */
const unshare = ["unshare", process.getuid?.() === 0 ? "-m" : "-rm"];

/** Whether this machine lets us mount; otherwise says why not. */
export const canMount = (() => {
  const [command, ...flags] = unshare;
  const tried = spawnSync(command!, [...flags, "mount", "-t", "tmpfs", "tmpfs", "/mnt"], {
    encoding: "utf8",
  });
  if (tried.status === 0) return true;
  console.warn(`tests that need a disk of their own are skipped: ${tried.stderr || tried.error?.message}`);
  return false;
})();

/** Says what is on the disk after the command, below the line that this is. */
export const onDisk = "on the disk:";

const script = `
folder=$1 prepare=$2; shift 2
mount -t tmpfs -o size=2m tmpfs "$folder" && eval "$prepare" || exit 99
"$@"; code=$?
echo "${onDisk}"; find "$folder" -mindepth 1 -printf '%P\\n' | sort
exit $code`;

/**
 * A command that runs with a disk of 2 MB of its own at `folder`, which the shell commands of `prepare` have made ready. It prints what
 * it finds there afterwards.
 */
export function withSmallDisk(
  folder: string,
  prepare: string,
  command: readonly string[],
): readonly string[] {
  return [...unshare, "sh", "-c", script, "sh", folder, prepare, ...command];
}
