import { defineConfig } from '@playwright/test'
import { PATIENCE_MS } from '../scripts/test/patience-ms.ts'
import { findChromium } from './chromium.ts'

const executablePath = findChromium()

/**
 * Of two such lists Chromium takes the last, so these are what Playwright switches off, and our own: an address bar that
 * is a web page costs, for each window that is opened, more than the page of ours in it.
 */
const FEATURES_OFF = [
  ...['AvoidUnnecessaryBeforeUnloadCheckSync', 'DestroyProfileOnBrowserClose', 'HttpsUpgrades'],
  ...['HttpsFirstBalancedModeAutoEnable', 'LensOverlay', 'MediaRouter', 'PaintHolding'],
  ...['ThirdPartyStoragePartitioning', 'AvoidCorsURLLoaderRestartOnRedirect', 'OptimizationHints'],
  ...['NetworkTimeServiceQuerying', 'AimEnabled', 'PreconnectToSearch'],
  ...['WebUIOmniboxPopup', 'WebUIOmniboxAimPopup', 'WebUIOmniboxFullPopup'],
]

export default defineConfig({
  testDir: '.',
  globalSetup: './one-postgres.ts',
  testMatch: '*.spec.ts',
  outputDir: '../test-results/e2e',
  // Two browsers, each with a gateway of its own: one waits while the other works. Two cores carry no more.
  workers: 2,
  fullyParallel: false,
  forbidOnly: process.env.CI === 'true',
  retries: 0,
  timeout: 120_000,
  expect: { timeout: PATIENCE_MS },
  // The JSON report is for `npm test`, which names a file for it; without one it would go to the screen.
  reporter: process.env.PLAYWRIGHT_JSON_OUTPUT_FILE === undefined ? 'list' : [['list'], ['json']],
  use: {
    browserName: 'chromium',
    // Nothing that moves is tested here, and each frame of it is drawn.
    contextOptions: { reducedMotion: 'reduce' },
    screenshot: 'only-on-failure',
    // Keeping every step of a page costs as much as the walk itself: only where somebody looks into a failure.
    trace: process.env.BERTH_TRACES === undefined ? 'off' : 'retain-on-failure',
    launchOptions: {
      ...(executablePath === undefined ? {} : { executablePath }),
      args: [
        // Containers and CI machines run this as root, where Chromium's own sandbox cannot start.
        '--no-sandbox',
        '--disable-gpu',
        // What is drawn, nobody sees; a process of its own for that costs a seventh of a walk.
        '--in-process-gpu',
        // Without a way out, a browser that looks for updates makes hundreds of refused connections.
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-quic',
        // Pages here live for seconds: to make the best code of theirs takes longer than that code saves.
        '--js-flags=--no-turbofan',
        `--disable-features=${FEATURES_OFF.join(',')}`,
      ],
    },
  },
})
