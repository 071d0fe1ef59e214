import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { chromium } from '@playwright/test'

/** The first one is built to be seen by nobody, and opens a page with half the work of the others. */
const COMMANDS = [
  'chromium-headless-shell',
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
]

/**
 * Finds a browser for the tests: the one that `BERTH_CHROMIUM` names, else one on PATH, else the one
 * that Playwright downloaded.
 * @returns Its absolute path, or nothing when there is none.
 */
export function findChromium(): string | undefined {
  const named = process.env.BERTH_CHROMIUM
  if (named !== undefined && named !== '') return named
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  const onPath = COMMANDS.flatMap(command => folders.map(folder => join(folder, command)))
  return [...onPath, chromium.executablePath()].find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return path !== ''
  } catch {
    return false
  }
}
