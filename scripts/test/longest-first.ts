import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { root } from '../lib/paths.mjs'

/** Files that hold a gateway to times: nothing big begins beside them, so they come first. */
const TIMED = [
  'apps/gateway/test/faults/three-gateways.test.ts',
  'apps/gateway/test/faults/start-stop.test.ts',
  'apps/gateway/test/faults/kill-gateway.test.ts',
  'apps/gateway/test/faults/postgres-down.test.ts',
]

/**
 * Files whose containers and pods get network interfaces on this computer: a browser gives up whatever it is loading where
 * one comes or goes (`ERR_NETWORK_CHANGED`).
 */
const NETWORKED = [
  'apps/gateway/src/drivers/compute/docker/docker-engine.test.ts',
  'apps/gateway/src/drivers/compute/kubernetes/kube-engine.test.ts',
  'apps/gateway/test/compose-walk.test.ts',
]

/** What is over before the walks begin. */
export const BEFORE_WALKS = [...TIMED, ...NETWORKED]

/** Files of more than forty seconds on a busy computer, about the longest first but for those that walks wait for. */
const LONGEST = [
  ...NETWORKED,
  'apps/gateway/src/drivers/compute/sandbox/sandbox-engine.test.ts',
  // It waits for three quarters of its time, so the timed ones have the processors.
  'apps/gateway/src/drivers/compute/sandbox/sandbox-recovery.test.ts',
  ...TIMED,
  'apps/gateway/src/drivers/compute/sandbox/unshare-engine.test.ts',
  'apps/gateway/test/main.test.ts',
  'apps/gateway/test/stale-reads.test.ts',
  'apps/gateway/test/books-run.test.ts',
  'apps/gateway/test/own-images.test.ts',
  'apps/gateway/src/domains/reach/files/files.test.ts',
  'apps/gateway/src/domains/images/covers/covers.test.ts',
  'apps/gateway/src/domains/volumes/volumes.test.ts',
  'apps/gateway/src/drivers/compute/sandbox/sandbox-image-faults.test.ts',
  'apps/gateway/src/domains/instances/follow/follow.test.ts',
  'apps/gateway/src/drivers/compute/docker/replace-container.test.ts',
  'apps/gateway/src/domains/instances/reconcile/recovery.test.ts',
  'apps/gateway/src/domains/instances/reconcile/lifecycle.test.ts',
  'apps/gateway/test/fuzz.test.ts',
  'apps/gateway/src/drivers/compute/sandbox/sandbox-images.test.ts',
  'apps/gateway/src/drivers/compute/sandbox/sandbox-outbound.test.ts',
  'apps/gateway/src/drivers/compute/docker/two-engines.test.ts',
  'apps/gateway/src/drivers/compute/qemu/linux-guest.test.ts',
  'apps/gateway/src/drivers/compute/sandbox/sandbox-users.test.ts',
]

/** The longest of the components. Theirs is a project near the end, which they begin. */
const LONGEST_COMPONENTS = [
  'apps/console/src/forms.test.tsx',
  'apps/console/src/ui/markdown/Markdown.test.tsx',
]

/** A process serves one project and is given up for another one, so those of the longest files come first. */
const PROJECTS = ['gateway', 'scripts', 'components', 'console', 'contract']

/**
 * Begins with the files that take longest, so that none of them is left alone at the end, and leaves the files of a
 * project together. Vitest does the former by itself only where it has kept the times of an earlier run, which a fresh
 * clone has not.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // A project's own longest come half a place before the rest of it.
    const ahead = LONGEST.length + PROJECTS.indexOf('components') - 0.5
    const ranks = new Map([
      ...LONGEST.map((file, rank) => [join(root, file), rank] as const),
      ...LONGEST_COMPONENTS.map(file => [join(root, file), ahead] as const),
    ])
    for (const path of ranks.keys()) {
      if (!existsSync(path))
        throw new Error(`${path} is not there any more; take it out of the longest files`)
    }
    const rankOf = ({ moduleId, project }: TestSpecification) =>
      ranks.get(moduleId) ?? LONGEST.length + PROJECTS.indexOf(project.name)
    return (await super.sort(files)).toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}
