import type { IncomingMessage } from 'node:http'
import type { Language } from '@berth/contract/limits'
import { HEADERS_EVERYWHERE } from '../../../platform/http/front-door.ts'
import { pickLanguage } from '../../../platform/http/languages.ts'

/** Why a service's origin answers with a page of ours. */
export type ServicePage =
  | 'unknown'
  | 'stopped'
  | 'nothing_listens'
  | 'too_slow'
  | 'broken'
  | 'busy'
  | 'unavailable'

const STATUS: Record<ServicePage, { code: number; text: string }> = {
  unknown: { code: 404, text: 'Not Found' },
  stopped: { code: 503, text: 'Service Unavailable' },
  nothing_listens: { code: 502, text: 'Bad Gateway' },
  too_slow: { code: 504, text: 'Gateway Timeout' },
  broken: { code: 502, text: 'Bad Gateway' },
  busy: { code: 503, text: 'Service Unavailable' },
  unavailable: { code: 503, text: 'Service Unavailable' },
}

type Texts = Record<ServicePage, { title: string; text: string }>

/** `{{port}}` is the port asked for. These pages are on services' origins, so the console never shows them. */
const TEXTS: Record<Language, Texts> = {
  en: {
    unknown: {
      title: 'No service here',
      text: 'No instance offers an HTTP service at this address. Copy the address again from the instance’s Connect dialog.',
    },
    stopped: {
      title: 'The instance is not running',
      text: 'Start the instance in the console, then reload this page.',
    },
    nothing_listens: {
      title: 'Nothing listens on port {{port}}',
      text: 'The instance runs, but no program in it accepts connections on port {{port}}. Start your server on that port, on 127.0.0.1 or on all addresses, then reload this page.',
    },
    too_slow: {
      title: 'The service did not answer in time',
      text: 'The program on port {{port}} took the request but gave no answer.',
    },
    broken: {
      title: 'The service broke off',
      text: 'The program on port {{port}} closed the connection or did not speak HTTP.',
    },
    busy: {
      title: 'Too many connections',
      text: 'This instance has as many open connections as it may have. Try again shortly.',
    },
    unavailable: {
      title: 'The gateway cannot answer right now',
      text: 'Nothing is wrong with the instance as far as is known. Try again shortly.',
    },
  },
  zh: {
    unknown: {
      title: '此处没有服务',
      text: '没有实例在此地址提供 HTTP 服务。请从实例的“连接”对话框重新复制地址。',
    },
    stopped: { title: '实例未运行', text: '请在控制台启动实例，然后重新加载此页面。' },
    nothing_listens: {
      title: '端口 {{port}} 上没有程序在监听',
      text: '实例正在运行，但其中没有程序在端口 {{port}} 上接受连接。请在该端口启动您的服务（监听 127.0.0.1 或所有地址），然后重新加载此页面。',
    },
    too_slow: { title: '服务未及时响应', text: '端口 {{port}} 上的程序收到了请求，但没有给出响应。' },
    broken: { title: '服务中断', text: '端口 {{port}} 上的程序关闭了连接，或者没有使用 HTTP 协议。' },
    busy: { title: '连接过多', text: '此实例的连接数已达上限。请稍后再试。' },
    unavailable: { title: '网关暂时无法响应', text: '目前未发现实例有问题。请稍后再试。' },
  },
  ja: {
    unknown: {
      title: 'ここにサービスはありません',
      text: 'このアドレスで HTTP サービスを提供しているインスタンスはありません。インスタンスの接続ダイアログからアドレスをもう一度コピーしてください。',
    },
    stopped: {
      title: 'インスタンスは実行されていません',
      text: 'コンソールでインスタンスを起動してから、このページを再読み込みしてください。',
    },
    nothing_listens: {
      title: 'ポート {{port}} で待ち受けているプログラムがありません',
      text: 'インスタンスは実行中ですが、ポート {{port}} で接続を受け付けるプログラムがありません。そのポートでサーバーを起動し（127.0.0.1 またはすべてのアドレス）、このページを再読み込みしてください。',
    },
    too_slow: {
      title: 'サービスが時間内に応答しませんでした',
      text: 'ポート {{port}} のプログラムはリクエストを受け取りましたが、応答しませんでした。',
    },
    broken: {
      title: 'サービスの接続が切れました',
      text: 'ポート {{port}} のプログラムが接続を閉じたか、HTTP で応答しませんでした。',
    },
    busy: {
      title: '接続が多すぎます',
      text: 'このインスタンスの接続数が上限に達しています。しばらくしてからもう一度お試しください。',
    },
    unavailable: {
      title: 'ゲートウェイが現在応答できません',
      text: 'インスタンスに問題は見つかっていません。しばらくしてからもう一度お試しください。',
    },
  },
  ko: {
    unknown: {
      title: '여기에는 서비스가 없습니다',
      text: '이 주소에서 HTTP 서비스를 제공하는 인스턴스가 없습니다. 인스턴스의 연결 대화 상자에서 주소를 다시 복사하세요.',
    },
    stopped: {
      title: '인스턴스가 실행 중이 아닙니다',
      text: '콘솔에서 인스턴스를 시작한 다음 이 페이지를 새로 고치세요.',
    },
    nothing_listens: {
      title: '포트 {{port}}에서 수신 중인 프로그램이 없습니다',
      text: '인스턴스는 실행 중이지만 포트 {{port}}에서 연결을 받는 프로그램이 없습니다. 해당 포트에서 서버를 시작하고(127.0.0.1 또는 모든 주소) 이 페이지를 새로 고치세요.',
    },
    too_slow: {
      title: '서비스가 제시간에 응답하지 않았습니다',
      text: '포트 {{port}}의 프로그램이 요청을 받았지만 응답하지 않았습니다.',
    },
    broken: {
      title: '서비스 연결이 끊어졌습니다',
      text: '포트 {{port}}의 프로그램이 연결을 닫았거나 HTTP로 응답하지 않았습니다.',
    },
    busy: {
      title: '연결이 너무 많습니다',
      text: '이 인스턴스의 연결 수가 한도에 도달했습니다. 잠시 후 다시 시도하세요.',
    },
    unavailable: {
      title: '게이트웨이가 지금 응답할 수 없습니다',
      text: '확인된 범위에서 인스턴스에는 문제가 없습니다. 잠시 후 다시 시도하세요.',
    },
  },
}

export interface RenderedPage {
  status: number
  statusText: string
  headers: Record<string, string>
  body: string
}

/**
 * Makes a page of ours for a service's origin, in the caller's language: HTML for browsers, else JSON.
 * @param page Why.
 * @param port The port asked for.
 */
export function renderServicePage(page: ServicePage, port: number, request: IncomingMessage): RenderedPage {
  const language = pickLanguage(request.headers['accept-language'])
  const { title, text } = TEXTS[language][page]
  const fill = (sentence: string) => sentence.replaceAll('{{port}}', String(port))
  const isHtml = request.headers.accept?.includes('text/html') ?? false
  const body = isHtml
    ? htmlOf(language, fill(title), fill(text))
    : `${JSON.stringify({ status: 'error', code: page, msg: `${fill(title)}. ${fill(text)}` })}\n`
  const { code, text: statusText } = STATUS[page]
  return {
    status: code,
    statusText,
    headers: {
      'Content-Type': isHtml ? 'text/html; charset=utf-8' : 'application/json; charset=utf-8',
      'Content-Length': String(Buffer.byteLength(body)),
      'Content-Language': language,
      'Cache-Control': 'no-store',
      'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
      ...HEADERS_EVERYWHERE,
      'Referrer-Policy': 'no-referrer',
      Vary: 'Accept, Accept-Language',
    },
    body,
  }
}

/** The texts are ours and the port is a number: nothing needs escaping. */
function htmlOf(language: Language, title: string, text: string): string {
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:34em;margin:18vh auto;padding:0 1.5em}h1{font-size:1.25em}</style>
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>
</body>
</html>
`
}
