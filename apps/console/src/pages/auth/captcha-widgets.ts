import type { Language } from '@berth/contract/limits'
import { pageNonce } from '../../ui/page-nonce.ts'

/** What the scripts of both services put on the page. */
interface WidgetApi {
  render(place: HTMLElement, options: Record<string, unknown>): string | number | undefined
  remove(widget: string | number): void
}

interface Service {
  script: string
  /** Its name on `window`. */
  api: 'turnstile' | 'hcaptcha'
  /** What only this service calls so. */
  optionsIn: (language: string) => Record<string, unknown>
}

interface WidgetOptions {
  siteKey: string
  language: Language
  isDark: boolean
  /** A token, or null when the one before is over. */
  onToken: (token: string | null) => void
  /** The script did not come, or the box gave up. */
  onBroken: () => void
}

const ON_LOAD = 'berthCaptchaLoaded'
const LOAD_MS = 15_000

/** By Casdoor's names of them. */
const SERVICES: Record<string, Service | undefined> = {
  'Cloudflare Turnstile': {
    script: `https://challenges.cloudflare.com/turnstile/v0/api.js?render=explicit&onload=${ON_LOAD}`,
    api: 'turnstile',
    optionsIn: language => ({ language, 'response-field': false, size: 'flexible' }),
  },
  hCaptcha: {
    script: `https://js.hcaptcha.com/1/api.js?render=explicit&recaptchacompat=off&onload=${ON_LOAD}`,
    api: 'hcaptcha',
    optionsIn: language => ({ hl: language }),
  },
}

/**
 * Shows the box of a captcha service.
 * @param type Casdoor's name of the service.
 * @param place Where it goes.
 * @param options See WidgetOptions.
 * @returns Takes the box away.
 */
export function showWidget(type: string, place: HTMLElement, options: WidgetOptions): () => void {
  const service = SERVICES[type]
  let remove = () => {}
  let isGone = false
  const show = (api: WidgetApi) => {
    if (isGone) return
    const widget = api.render(place, {
      sitekey: options.siteKey,
      theme: options.isDark ? 'dark' : 'light',
      callback: (token: string) => options.onToken(token),
      'expired-callback': () => options.onToken(null),
      'error-callback': () => {
        options.onToken(null)
        options.onBroken()
      },
      ...service?.optionsIn(options.language === 'zh' ? 'zh-CN' : options.language),
    })
    if (widget !== undefined) remove = () => api.remove(widget)
  }
  const loaded = service ? load(service) : Promise.reject(new Error(`no captcha service ${type}`))
  loaded.then(show).catch(() => {
    if (!isGone) options.onBroken()
  })
  return () => {
    isGone = true
    remove()
  }
}

/** A script is loaded once, however many boxes are shown; a failed one may be tried again. */
let loading: Promise<WidgetApi> | null = null

function load({ script: address, api }: Service): Promise<WidgetApi> {
  loading ??= new Promise<WidgetApi>((done, failed) => {
    const script = document.createElement('script')
    // The content policy takes scripts with the page's nonce.
    script.nonce = pageNonce()
    script.src = address
    script.async = true
    const globals = window as unknown as Record<string, unknown>
    const fail = () => {
      loading = null
      script.remove()
      failed(new Error('the script of the captcha service did not come'))
    }
    const timer = setTimeout(fail, LOAD_MS)
    globals[ON_LOAD] = () => {
      clearTimeout(timer)
      done(globals[api] as WidgetApi)
    }
    script.onerror = () => {
      clearTimeout(timer)
      fail()
    }
    document.head.append(script)
  })
  return loading
}
