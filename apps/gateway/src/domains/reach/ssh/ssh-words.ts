import type { Language } from '@berth/contract/limits'

/** What is said on somebody's terminal. `{{id}}` is the instance's. */
export type SshWord =
  | 'not_yours'
  | 'not_running'
  | 'unreachable'
  | 'no_programs'
  | 'no_shell'
  | 'outdated'
  | 'busy'
  | 'stopped'
  | 'key_removed'
  | 'account_closed'
  | 'gateway_stopping'
  | 'too_many_connections'
  | 'too_many_sessions'
  | 'no_subsystem'
  | 'command_too_long'
  | 'remote_forwards'
  | 'other_host'
  | 'port_closed'

const WORDS: Record<Language, Record<SshWord, string>> = {
  en: {
    not_yours:
      'Your account has no instance {{id}}. The Connect dialog of an instance has the right command.',
    not_running: 'The instance {{id}} does not run. Start it in the console, then connect again.',
    unreachable: 'The instance {{id}} cannot be reached at the moment. Please try again.',
    no_programs:
      'The instance {{id}} is a virtual machine: shells come by its own SSH server or its web terminal.',
    no_shell:
      'The image of the instance {{id}} has no shell, so nothing can be run in it. Its ports are reached: -L and -D.',
    outdated:
      'The instance {{id}} was started before it could be reached by SSH. Restart it in the console, then connect again.',
    busy: 'The instance {{id}} has no room for another program or connection. Close some and try again.',
    stopped: 'The instance {{id}} does not run any more.',
    key_removed: 'The SSH key that you signed in with was removed from your account.',
    account_closed: 'Your account was closed.',
    gateway_stopping: 'The server is being restarted. Please connect again.',
    too_many_connections:
      'Your account has as many SSH connections as it may have. Close some and try again.',
    too_many_sessions: 'This connection has as many sessions as it may have. Please open another connection.',
    command_too_long: 'The command is too long. Send it as the input of a shell instead.',
    no_subsystem: 'This subsystem is not offered.',
    remote_forwards:
      'Ports are not forwarded from the instance to your computer (-R). From your computer to the instance they are: -L and -D.',
    other_host: 'Only ports of the instance itself are reached: name localhost as the host.',
    port_closed: 'Nothing listens on that port of the instance.',
  },
  zh: {
    not_yours: '您的账户中没有实例 {{id}}。正确的命令请见该实例的“连接”对话框。',
    not_running: '实例 {{id}} 没有运行。请先在控制台启动它，然后重新连接。',
    unreachable: '目前无法连接到实例 {{id}}。请重试。',
    no_programs: '实例 {{id}} 是虚拟机：请使用它自己的 SSH 服务或网页终端。',
    no_shell: '实例 {{id}} 的镜像中没有 shell，无法在其中运行程序。它的端口仍可访问：-L 和 -D。',
    outdated: '实例 {{id}} 启动时尚不支持 SSH。请在控制台重启它，然后重新连接。',
    busy: '实例 {{id}} 已没有余地运行更多程序或连接。请关闭一些后重试。',
    stopped: '实例 {{id}} 已不再运行。',
    key_removed: '您登录所用的 SSH 密钥已从账户中移除。',
    account_closed: '您的账户已关闭。',
    gateway_stopping: '服务器正在重启。请重新连接。',
    too_many_connections: '您的账户的 SSH 连接数已达上限。请关闭一些后重试。',
    too_many_sessions: '此连接的会话数已达上限。请另开一个连接。',
    command_too_long: '命令过长。请改为作为 shell 的输入发送。',
    no_subsystem: '不提供此子系统。',
    remote_forwards: '不支持从实例向您的计算机转发端口（-R）。从您的计算机到实例的转发可用：-L 和 -D。',
    other_host: '只能访问实例自身的端口：请将主机写为 localhost。',
    port_closed: '实例的该端口上没有程序在监听。',
  },
  ja: {
    not_yours:
      'アカウントにインスタンス {{id}} はありません。正しいコマンドはインスタンスの「接続」ダイアログにあります。',
    not_running: 'インスタンス {{id}} は実行されていません。コンソールで起動してから再接続してください。',
    unreachable: 'インスタンス {{id}} に現在接続できません。もう一度お試しください。',
    no_programs:
      'インスタンス {{id}} は仮想マシンです。シェルはその SSH サーバーまたはウェブターミナルをご利用ください。',
    no_shell:
      'インスタンス {{id}} のイメージにはシェルがないため、何も実行できません。ポートには -L と -D で接続できます。',
    outdated:
      'インスタンス {{id}} は SSH に対応する前に起動されました。コンソールで再起動してから接続してください。',
    busy: 'インスタンス {{id}} にはこれ以上のプログラムや接続の余地がありません。いくつか閉じてからお試しください。',
    stopped: 'インスタンス {{id}} はもう実行されていません。',
    key_removed: 'サインインに使われた SSH 鍵はアカウントから削除されました。',
    account_closed: 'アカウントは閉鎖されました。',
    gateway_stopping: 'サーバーを再起動しています。もう一度接続してください。',
    too_many_connections: 'アカウントの SSH 接続数が上限に達しています。いくつか閉じてからお試しください。',
    too_many_sessions: 'この接続のセッション数が上限に達しています。別の接続を開いてください。',
    command_too_long: 'コマンドが長すぎます。シェルの入力として送ってください。',
    no_subsystem: 'このサブシステムは提供されていません。',
    remote_forwards:
      'インスタンスからお使いのコンピューターへのポート転送（-R）はできません。逆方向の -L と -D は使えます。',
    other_host: '接続できるのはインスタンス自身のポートだけです。ホストには localhost を指定してください。',
    port_closed: 'インスタンスのそのポートでは何も待ち受けていません。',
  },
  ko: {
    not_yours: '계정에 인스턴스 {{id}}이(가) 없습니다. 올바른 명령은 인스턴스의 연결 대화 상자에 있습니다.',
    not_running: '인스턴스 {{id}}이(가) 실행 중이 아닙니다. 콘솔에서 시작한 뒤 다시 연결하세요.',
    unreachable: '지금은 인스턴스 {{id}}에 연결할 수 없습니다. 다시 시도하세요.',
    no_programs: '인스턴스 {{id}}은(는) 가상 머신입니다. 셸은 자체 SSH 서버나 웹 터미널을 사용하세요.',
    no_shell:
      '인스턴스 {{id}}의 이미지에 셸이 없어 아무것도 실행할 수 없습니다. 포트는 -L과 -D로 연결할 수 있습니다.',
    outdated: '인스턴스 {{id}}은(는) SSH를 지원하기 전에 시작되었습니다. 콘솔에서 다시 시작한 뒤 연결하세요.',
    busy: '인스턴스 {{id}}에 프로그램이나 연결을 더 열 수 없습니다. 일부를 닫고 다시 시도하세요.',
    stopped: '인스턴스 {{id}}이(가) 더 이상 실행되지 않습니다.',
    key_removed: '로그인에 사용한 SSH 키가 계정에서 제거되었습니다.',
    account_closed: '계정이 폐쇄되었습니다.',
    gateway_stopping: '서버를 다시 시작하는 중입니다. 다시 연결하세요.',
    too_many_connections: '계정의 SSH 연결 수가 한도에 이르렀습니다. 일부를 닫고 다시 시도하세요.',
    too_many_sessions: '이 연결의 세션 수가 한도에 이르렀습니다. 다른 연결을 여세요.',
    command_too_long: '명령이 너무 깁니다. 셸의 입력으로 보내세요.',
    no_subsystem: '이 서브시스템은 제공되지 않습니다.',
    remote_forwards:
      '인스턴스에서 사용자의 컴퓨터로 향하는 포트 전달(-R)은 지원되지 않습니다. 반대 방향인 -L과 -D는 사용할 수 있습니다.',
    other_host: '인스턴스 자체의 포트만 사용할 수 있습니다. 호스트로 localhost를 지정하세요.',
    port_closed: '인스턴스의 해당 포트에서 수신 대기 중인 프로그램이 없습니다.',
  },
}

/** What a name looks like that may be said again on a terminal. */
const SHOWABLE = /^[a-z0-9-]{1,40}$/

/**
 * A sentence for a terminal.
 * @param id The name that was signed in as: whoever connects has chosen it.
 */
export function sshSentence(language: Language, word: SshWord, id: string): string {
  return WORDS[language][word].replace('{{id}}', SHOWABLE.test(id) ? id : '?')
}
