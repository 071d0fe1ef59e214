// The direction of imports: docs/architecture.md says why, this file holds it.
// Type-only imports count like any other: a type names what it depends on.

import { TEST_FILE_PATTERN as TEST_FILE } from './scripts/lib/test-files.mjs'

const GATEWAY = '^apps/gateway/src'
const CONSOLE = '^apps/console/src'
const CONTRACT = '^packages/contract/'

/** Makes a rule that forbids imports; tests may break it unless it says otherwise. */
function forbid(name, comment, from, to) {
  return { name, comment, severity: 'error', from: { pathNot: TEST_FILE, ...from }, to }
}

const everywhere = [
  {
    ...forbid(
      'no-cycles',
      'Two modules that need each other are one module, or lack a third.',
      {},
      { circular: true },
    ),
    from: {},
  },
  { ...forbid('no-unresolved', 'The import leads nowhere.', {}, { couldNotResolve: true }), from: {} },
  forbid(
    'no-test-code',
    'What ships does not import tests or their helpers.',
    { path: '^(apps|packages)/[^/]+/src/' },
    {
      path: [TEST_FILE, '^(apps|packages)/[^/]+/test/', '^(e2e|bench|scripts)/'],
    },
  ),
  forbid(
    'no-development-packages',
    'What ships runs with the production packages alone.',
    { path: '^(apps|packages)/[^/]+/src/' },
    { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['npm', 'type-only'] },
  ),
]

const acrossPackages = [
  forbid(
    'contract-is-a-leaf',
    'The contract imports nothing of ours: both sides agree on it.',
    { path: CONTRACT },
    {
      path: '^(apps|packages|e2e|bench|scripts)/',
      pathNot: CONTRACT,
    },
  ),
  forbid(
    'contract-needs-only-zod',
    'The contract runs in browsers and servers alike; zod is all it needs.',
    { path: CONTRACT },
    {
      dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown', 'core'],
      pathNot: '(^|/)node_modules/zod/',
    },
  ),
  forbid(
    'console-not-gateway',
    'The console knows the gateway by the contract only.',
    { path: '^apps/console/' },
    {
      path: '^apps/gateway/',
    },
  ),
  forbid(
    'gateway-not-console',
    'The gateway knows the console by the contract only.',
    { path: '^apps/gateway/' },
    {
      path: '^apps/console/',
    },
  ),
]

const inGateway = [
  forbid(
    'nobody-imports-the-root',
    'run.ts and its neighbours put the parts together; no part reaches back.',
    {
      path: `${GATEWAY}/(domains|drivers|platform)/`,
    },
    { path: [`${GATEWAY}/[^/]+$`, `${GATEWAY}/operator/`] },
  ),
  forbid(
    'platform-is-the-ground',
    'The platform knows no domain and no driver.',
    { path: `${GATEWAY}/platform/` },
    {
      path: `${GATEWAY}/(domains|drivers)/`,
    },
  ),
  forbid(
    'driver-not-domain',
    'A driver knows its port and the platform, no domain.',
    { path: `${GATEWAY}/drivers/` },
    {
      path: `${GATEWAY}/domains/`,
    },
  ),
  forbid(
    'driver-not-other-port',
    'Drivers of one port may share code; they know nothing of another port.',
    { path: `${GATEWAY}/drivers/([^/]+)/` },
    { path: `${GATEWAY}/drivers/`, pathNot: `${GATEWAY}/drivers/$1/` },
  ),
  forbid(
    'domain-by-its-rules',
    'A domain reaches another one only through <domain>/<domain>.ts, and the events in its events.ts.',
    { path: `${GATEWAY}/domains/([^/]+)/` },
    {
      path: `${GATEWAY}/domains/`,
      pathNot: [`${GATEWAY}/domains/$1/`, String.raw`${GATEWAY}/domains/([^/]+)/(\1|events)\.ts$`],
    },
  ),
  forbid(
    'domain-by-the-port',
    'A domain knows what a port promises (drivers/<port>/port.ts, or the files of port/), not who keeps it.',
    {
      path: `${GATEWAY}/domains/`,
    },
    { path: `${GATEWAY}/drivers/`, pathNot: String.raw`${GATEWAY}/drivers/[^/]+/port(\.ts|/[^/]+\.ts)$` },
  ),
]

const inConsole = [
  forbid(
    'page-not-page',
    'Pages do not import each other; what two of them use lives in ui/, api/, or a folder beside pages/ such as instances/.',
    { path: `${CONSOLE}/pages/([^/]+)/` },
    { path: `${CONSOLE}/pages/`, pathNot: `${CONSOLE}/pages/$1/` },
  ),
  forbid(
    'ui-is-plain',
    'ui/ shows what it is given: it calls nothing and knows no page.',
    { path: `${CONSOLE}/ui/` },
    {
      path: `${CONSOLE}/(pages|api|app)/`,
    },
  ),
  forbid(
    'api-has-no-screen',
    'api/ speaks to the gateway and draws nothing.',
    { path: `${CONSOLE}/api/` },
    {
      path: `${CONSOLE}/(pages|ui|app)/`,
    },
  ),
  forbid(
    'only-app-imports-pages',
    'Only the table of routes in app/ knows the pages.',
    {
      path: `${CONSOLE}/`,
      pathNot: [TEST_FILE, `${CONSOLE}/(app|pages)/`],
    },
    { path: `${CONSOLE}/pages/` },
  ),
]

export default {
  forbidden: [...everywhere, ...acrossPackages, ...inGateway, ...inConsole],
  options: {
    // TypeScript 7 has no parser that JavaScript could call; swc reads .ts and .tsx, type-only imports included.
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    exclude: { path: ['/dist/', '/test-results/'] },
    combinedDependencies: true,
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.mjs', '.js', '.json'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      mainFields: ['module', 'main', 'types'],
    },
  },
}
