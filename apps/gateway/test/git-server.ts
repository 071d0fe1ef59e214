import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { dirname, join } from 'node:path'
import { makeCertificates } from '../src/drivers/compute/docker/dockerd-fixture.ts'

/** A host of one repository by TLS, as git itself serves it. */
export interface GitServer {
  host: string
  url: string
  /** What is to believe it. */
  authorityFile: string
  /** What was asked. */
  asked: string[]
  /** Answers every question with a redirect there; null: no more. */
  redirect(to: string | null): void
  close(): void
}

/** @param files By their paths; one that begins with `-> ` is a link. */
export async function startGitServer(folder: string, files: Record<string, string>): Promise<GitServer> {
  await makeCertificates(folder)
  const work = join(folder, 'work')
  for (const [path, content] of Object.entries(files)) {
    const at = join(work, path)
    mkdirSync(dirname(at), { recursive: true })
    if (content.startsWith('-> ')) symlinkSync(content.slice(3), at)
    else writeFileSync(at, content)
  }
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@localhost', ...words], { cwd: work })
  git('init', '--quiet', '-b', 'main')
  git('add', '-A')
  git('commit', '--quiet', '-m', 'all')
  git('tag', 'v1')
  git('clone', '--quiet', '--bare', '.', join(folder, 'served/repo.git'))
  let elsewhere: string | null = null
  const asked: string[] = []
  const keys = {
    key: readFileSync(join(folder, 'server-key.pem')),
    cert: readFileSync(join(folder, 'server.pem')),
  }
  const server = createServer(keys, (request, answer) => {
    const url = new URL(request.url ?? '/', 'https://here')
    asked.push(`${request.method} ${url.pathname}`)
    if (elsewhere !== null)
      return void answer.writeHead(302, { location: `${elsewhere}${request.url}` }).end()
    const backend = spawn('git', ['http-backend'], {
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: join(folder, 'served'),
        GIT_HTTP_EXPORT_ALL: '1',
        REQUEST_METHOD: request.method,
        PATH_INFO: url.pathname,
        QUERY_STRING: url.search.slice(1),
        CONTENT_TYPE: request.headers['content-type'] ?? '',
        HTTP_GIT_PROTOCOL: request.headers['git-protocol']?.toString() ?? '',
        HTTP_CONTENT_ENCODING: request.headers['content-encoding'] ?? '',
      },
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    backend.stdin.on('error', () => undefined)
    request.pipe(backend.stdin)
    const pieces: Buffer[] = []
    backend.stdout.on('data', (piece: Buffer) => pieces.push(piece))
    backend.once('close', () => {
      const said = Buffer.concat(pieces)
      const end = said.indexOf('\r\n\r\n')
      const head = said.subarray(0, end).toString().split('\r\n')
      for (const line of head) {
        const [name = '', value = ''] = line.split(': ')
        if (name === 'Status') answer.statusCode = Number.parseInt(value, 10)
        else answer.setHeader(name, value)
      }
      answer.end(said.subarray(end + 4))
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const host = `127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  return {
    host,
    url: `https://${host}/repo.git`,
    authorityFile: join(folder, 'ca.pem'),
    asked,
    redirect(to) {
      elsewhere = to
    },
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
