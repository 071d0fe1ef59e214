import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type BrowserContext, type CDPSession, chromium } from 'playwright-core'
import { findChromium } from '../../e2e/chromium.ts'
import { ASK_FOR_KEY, type PageTimes, probeUsable, TELL_USABLE } from './usable-probe.ts'

/** A page to load: where it is, and the control by which it counts as usable. */
export interface Target {
  url: string
  control: string
}

/** One load: what the page says of itself, and what went over the wire until it was usable. */
export interface PageLoad extends PageTimes {
  requests: number
  /** Bodies and headers, as they were sent. */
  bytes: number
  scriptBytes: number
}

/** A browser with a profile of its own on disk, so that its caches are those of a real visitor. */
export interface Visitor {
  /** Keeps something in the origin's local storage, such as a token. */
  store(url: string, key: string, value: string): Promise<void>
  /** Loads a page with empty caches. */
  loadCold(target: Target): Promise<PageLoad>
  /** Loads a page that was loaded twice before: files and compiled code may come from the caches. */
  loadWarm(target: Target): Promise<PageLoad>
  close(): Promise<void>
}

const CPU_SLOWDOWN = 4
const LINK = { offline: false, latency: 40, downloadThroughput: 1_250_000, uploadThroughput: 1_250_000 }
const LOAD_MS = 60_000
const VIEWPORT = { width: 1_280, height: 800 }

/** Starts a browser of its own. */
export async function startVisitor(): Promise<Visitor> {
  const folder = mkdtempSync(join(tmpdir(), 'berth-bench-visitor-'))
  const executablePath = findChromium()
  const context = await chromium.launchPersistentContext(folder, {
    ...(executablePath === undefined ? {} : { executablePath }),
    viewport: VIEWPORT,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--disable-quic',
    ],
  })
  return {
    async store(url, key, value) {
      const page = await context.newPage()
      await page.goto(url)
      await page.evaluate(([name = '', content = '']) => localStorage.setItem(name, content), [key, value])
      await page.close()
    },
    async loadCold(target) {
      return load(context, target, async session => {
        await session.send('Network.clearBrowserCache')
        await slowDown(session)
      })
    },
    async loadWarm(target) {
      // The first visit after the cold one has its code compiled into the cache, the next one finds it there.
      await load(context, target, async () => undefined)
      return load(context, target, slowDown)
    },
    async close() {
      await context.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function slowDown(session: CDPSession): Promise<void> {
  await session.send('Network.emulateNetworkConditions', LINK)
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
}

async function load(
  context: BrowserContext,
  { url, control }: Target,
  prepare: (session: CDPSession) => Promise<void>,
): Promise<PageLoad> {
  const page = await context.newPage()
  try {
    const session = await context.newCDPSession(page)
    await session.send('Network.enable')
    await session.send('Runtime.enable')
    await session.send('Runtime.addBinding', { name: ASK_FOR_KEY })
    await session.send('Runtime.addBinding', { name: TELL_USABLE })
    await page.addInitScript(probeUsable, { control, askForKey: ASK_FOR_KEY, tellUsable: TELL_USABLE })
    await prepare(session)
    const wire = countWire(session)
    const times = untilUsable(session, url)
    const failed = page.goto(url, { waitUntil: 'commit' }).then(() => times)
    return { ...(await Promise.race([times, failed])), ...wire() }
  } finally {
    await page.close()
  }
}

/** Presses a key when the page asks for one, and waits until it says that it is usable. */
function untilUsable(session: CDPSession, url: string): Promise<PageTimes> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${url} did not become usable.`)), LOAD_MS)
    session.on('Runtime.bindingCalled', ({ name, payload }) => {
      if (name === ASK_FOR_KEY) pressKey(session, payload).catch(reject)
      if (name !== TELL_USABLE) return
      clearTimeout(timer)
      resolve(JSON.parse(payload) as PageTimes)
    })
  })
}

async function pressKey(session: CDPSession, key: string): Promise<void> {
  const text = key.length === 1 ? { text: key } : {}
  await Promise.all([
    session.send('Input.dispatchKeyEvent', { type: 'keyDown', key, ...text }),
    session.send('Input.dispatchKeyEvent', { type: 'keyUp', key }),
  ])
}

/** Counts what goes over the wire; what a cache gives does not. */
function countWire(session: CDPSession): () => { requests: number; bytes: number; scriptBytes: number } {
  const isScript = new Map<string, boolean>()
  const cached = new Set<string>()
  const sizes = new Map<string, number>()
  session.on('Network.requestServedFromCache', ({ requestId }) => cached.add(requestId))
  session.on('Network.responseReceived', ({ requestId, response }) => {
    isScript.set(requestId, /javascript/.test(response.mimeType))
    if (response.fromDiskCache || response.fromPrefetchCache) cached.add(requestId)
  })
  session.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    sizes.set(requestId, encodedDataLength)
  })
  return () => {
    const sent = [...sizes].filter(([id]) => !cached.has(id))
    const sum = (rows: typeof sent) => rows.reduce((total, [, size]) => total + size, 0)
    return {
      requests: sent.length,
      bytes: sum(sent),
      scriptBytes: sum(sent.filter(([id]) => isScript.get(id) === true)),
    }
  }
}
