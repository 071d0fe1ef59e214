import { execFile } from 'node:child_process'
import { readFile, stat } from 'node:fs/promises'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * As whom PostgreSQL runs. It refuses to run as root, so a gateway that runs as root finds it another identity.
 */
export interface OsUser {
  /** For the log: how it was solved. */
  how: string
  /** The command that runs a program under this identity. */
  wrap(file: string, args: readonly string[]): { file: string; args: string[] }
  /** Added to the options of `spawn`. */
  ids: { uid?: number; gid?: number }
  /** Who owns its files. Null: whoever makes them, which is right already. */
  owner: { uid: number; gid: number } | null
}

/**
 * Chooses the identity for PostgreSQL.
 *
 * An ordinary user runs it as itself. Root runs it in a user namespace of its own where root is seen as
 * somebody else: the files stay root's, so that it also works below folders that only root may enter, such as
 * `/root`. Where user namespaces are forbidden, as in many containers, it runs as the user `postgres`, which is
 * made when there is none.
 */
export async function chooseOsUser(): Promise<OsUser> {
  if (process.getuid?.() !== 0) {
    return { how: 'as the user of the gateway', wrap: plain, ids: {}, owner: null }
  }
  return (await userNamespace()) ?? (await otherUser())
}

/** Makes a folder and all in it belong to whom PostgreSQL runs as, if it does not yet. */
export async function giveTo(user: OsUser, folder: string): Promise<void> {
  if (!user.owner) return
  const { uid, gid } = await stat(folder)
  if (uid === user.owner.uid && gid === user.owner.gid) return
  await run('chown', ['-R', `${user.owner.uid}:${user.owner.gid}`, folder])
}

/** Whether a program runs and a folder can be entered under this identity; else why not. */
export async function findObstacle(user: OsUser, program: string, folder: string): Promise<string | null> {
  for (const [file, args, what] of [
    [program, ['--version'], `run ${program}`],
    ['/bin/sh', ['-c', 'cd "$1"', 'sh', folder], `enter ${folder}`],
  ] as const) {
    const command = user.wrap(file, args)
    try {
      await run(command.file, command.args, user.ids)
    } catch {
      return `PostgreSQL cannot run as root, and ${user.how} it cannot ${what}.`
    }
  }
  return null
}

const plain = (file: string, args: readonly string[]) => ({ file, args: [...args] })

async function userNamespace(): Promise<OsUser | null> {
  // PostgreSQL looks its user up by name, so it must be one that the system knows.
  const seenAs = (await findPasswdEntry('nobody')) ?? (await findPasswdEntry('daemon'))
  if (!seenAs) return null
  const flags = ['--user', `--map-user=${seenAs.uid}`, `--map-group=${seenAs.gid}`, '--']
  try {
    const { stdout } = await run('unshare', [...flags, 'id', '-u'])
    if (stdout.trim() !== String(seenAs.uid)) return null
  } catch {
    return null
  }
  return {
    how: 'in a user namespace',
    wrap: (file, args) => ({ file: 'unshare', args: [...flags, file, ...args] }),
    ids: {},
    owner: { uid: 0, gid: 0 },
  }
}

async function otherUser(): Promise<OsUser> {
  const name = 'postgres'
  let entry = await findPasswdEntry(name)
  if (!entry) {
    await run('useradd', [
      '--system',
      '--user-group',
      '--no-create-home',
      '--shell',
      '/bin/false',
      name,
    ]).catch(error => {
      throw new Error(
        'PostgreSQL cannot run as root: user namespaces are not allowed here, and the user `postgres` could ' +
          'not be made. Run Berth as an ordinary user, or set DATABASE_URL.',
        { cause: error },
      )
    })
    entry = await findPasswdEntry(name)
  }
  if (!entry) throw new Error(`The user ${name} was made but is not in /etc/passwd.`)
  return { how: `as the user ${name}`, wrap: plain, ids: entry, owner: entry }
}

async function findPasswdEntry(name: string): Promise<{ uid: number; gid: number } | null> {
  const text = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = text
    .split('\n')
    .map(line => line.split(':'))
    .find(line => line[0] === name)
  const uid = Number(fields?.[2])
  const gid = Number(fields?.[3])
  return uid > 0 && gid > 0 ? { uid, gid } : null
}
