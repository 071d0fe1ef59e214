/** The nonce that the page's content policy asks of scripts and styles made at run time; empty where there is none. */
export function pageNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? ''
}
