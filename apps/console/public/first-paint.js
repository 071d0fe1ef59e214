// Runs before the first paint, so that a stored theme and language never flash as the default ones.
// The keys are those of src/app/theme/color-scheme-key.ts and src/app/i18n.ts; a test holds them together.
;(() => {
  let scheme = null
  let language = null
  try {
    scheme = localStorage.getItem('berth.color-scheme')
    language = localStorage.getItem('berth.language')
  } catch {
    // Storage can be switched off; the defaults then apply.
  }
  if (scheme !== 'light' && scheme !== 'dark') {
    scheme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  }
  document.documentElement.setAttribute('data-mantine-color-scheme', scheme)
  const isForeign = language === 'zh' || language === 'ja' || language === 'ko'
  if (isForeign) document.documentElement.lang = language
  // The texts come while the code does, not after it. What is missing in a language is said in English, so that is
  // fetched as well. A page that no gateway has filled in names no texts.
  const texts = document.currentScript.dataset.texts ?? ''
  if (texts === '' || texts.startsWith('__')) return
  for (const spoken of isForeign ? [language, 'en'] : ['en']) {
    for (const name of texts.split(' ')) {
      const link = document.createElement('link')
      link.rel = 'preload'
      link.as = 'fetch'
      link.crossOrigin = 'anonymous'
      link.href = `/locales/${spoken}/${name}.json`
      document.head.append(link)
    }
  }
})()

// A script or style sheet of ours that is lost on the way leaves an empty or a bare page, and nothing else can notice it:
// the page is loaded again, five times at most. One of somebody else's (of payments, a captcha) has whoever asked for it
// look after it; whoever blocks it would lose what they typed, again and again.
window.addEventListener(
  'error',
  event => {
    const lost = event.target
    if (
      !(lost instanceof HTMLScriptElement || (lost instanceof HTMLLinkElement && lost.rel === 'stylesheet'))
    )
      return
    const address = lost instanceof HTMLScriptElement ? lost.src : lost.href
    if (address === '' || new URL(address, location.href).origin !== location.origin) return
    try {
      const reloads = Number(sessionStorage.getItem('berth.reloads') ?? 0)
      if (reloads >= 5) return
      sessionStorage.setItem('berth.reloads', String(reloads + 1))
    } catch {
      // Without storage the reloads cannot be counted, so there are none.
      return
    }
    setTimeout(() => location.reload(), 200)
  },
  true,
)
