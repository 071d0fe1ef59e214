import type { Language } from '@berth/contract/limits'

/** What is said on somebody's terminal. `{{id}}` is the instance's. */
export type SshWord =
  | 'not_yours'
  | 'not_running'
  | 'unreachable'
  | 'guest_closed'
  | 'guest_unsure'
  | 'guest_host_key'
  | 'guest_key_refused'
  | 'no_shell'
  | 'outdated'
  | 'busy'
  | 'stopped'
  | 'key_removed'
  | 'key_not_chosen'
  | 'account_closed'
  | 'account_suspended'
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
    guest_closed:
      'Nothing answers on port 22 of the virtual machine {{id}}. If it was started a moment ago, try again in a minute; else look in its serial console whether its SSH server runs.',
    guest_unsure:
      'What listens on port 22 of the virtual machine {{id}} does not answer as an SSH server should. Look at it in the serial console, or restart it.',
    guest_host_key:
      'The SSH server of the virtual machine {{id}} has another key than it was given. Run “cloud-init clean” in its serial console and restart it in the console: it is then set up anew.',
    guest_key_refused:
      'The SSH server of the virtual machine {{id}} does not let us in as root. Run “cloud-init clean” in its serial console and restart it in the console: it is then set up anew.',
    no_shell:
      'The image of the instance {{id}} has no shell, so nothing can be run in it. Its ports are reached: -L and -D.',
    outdated:
      'The instance {{id}} was started before it could be reached by SSH. Restart it in the console, then connect again.',
    busy: 'The instance {{id}} has no room for another program or connection. Close some and try again.',
    stopped: 'The instance {{id}} does not run any more.',
    key_removed: 'The SSH key that you signed in with was removed from your account.',
    key_not_chosen: 'The SSH key that you signed in with may not sign in to {{id}} any more.',
    account_closed: 'Your account was closed.',
    account_suspended:
      'This account is suspended: nothing can be done with it. Please write to whoever runs this service.',
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
    guest_closed:
      '虚拟机 {{id}} 的 22 端口没有响应。如果刚刚启动，请一分钟后重试；否则请在串口控制台中查看其 SSH 服务是否在运行。',
    guest_unsure: '虚拟机 {{id}} 的 22 端口上的程序没有像 SSH 服务那样应答。请在串口控制台中查看，或重启它。',
    guest_host_key:
      '虚拟机 {{id}} 的 SSH 服务的密钥不是当初配置的那一个。请在串口控制台中运行“cloud-init clean”，然后在控制台重启：它会重新配置。',
    guest_key_refused:
      '虚拟机 {{id}} 的 SSH 服务不允许我们以 root 登录。请在串口控制台中运行“cloud-init clean”，然后在控制台重启：它会重新配置。',
    no_shell: '实例 {{id}} 的镜像中没有 shell，无法在其中运行程序。它的端口仍可访问：-L 和 -D。',
    outdated: '实例 {{id}} 启动时尚不支持 SSH。请在控制台重启它，然后重新连接。',
    busy: '实例 {{id}} 已没有余地运行更多程序或连接。请关闭一些后重试。',
    stopped: '实例 {{id}} 已不再运行。',
    key_removed: '您登录所用的 SSH 密钥已从账户中移除。',
    key_not_chosen: '您登录所用的 SSH 密钥已不能再登录 {{id}}。',
    account_closed: '您的账户已关闭。',
    account_suspended: '此账户已被停用：无法进行任何操作。请联系本服务的运营方。',
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
    guest_closed:
      '仮想マシン {{id}} のポート 22 が応答しません。起動した直後なら 1 分後にお試しください。そうでなければ、ウェブターミナルで SSH サーバーが動いているか確かめてください。',
    guest_unsure:
      '仮想マシン {{id}} のポート 22 で待ち受けているものが SSH サーバーとして応答しません。ウェブターミナルで確かめるか、再起動してください。',
    guest_host_key:
      '仮想マシン {{id}} の SSH サーバーの鍵が、設定されたものと異なります。ウェブターミナルで「cloud-init clean」を実行し、コンソールで再起動すると設定し直されます。',
    guest_key_refused:
      '仮想マシン {{id}} の SSH サーバーに root として入れません。ウェブターミナルで「cloud-init clean」を実行し、コンソールで再起動すると設定し直されます。',
    no_shell:
      'インスタンス {{id}} のイメージにはシェルがないため、何も実行できません。ポートには -L と -D で接続できます。',
    outdated:
      'インスタンス {{id}} は SSH に対応する前に起動されました。コンソールで再起動してから接続してください。',
    busy: 'インスタンス {{id}} にはこれ以上のプログラムや接続の余地がありません。いくつか閉じてからお試しください。',
    stopped: 'インスタンス {{id}} はもう実行されていません。',
    key_removed: 'サインインに使われた SSH 鍵はアカウントから削除されました。',
    key_not_chosen: 'サインインに使われた SSH 鍵では、もう {{id}} にサインインできません。',
    account_closed: 'アカウントは閉鎖されました。',
    account_suspended:
      'このアカウントは停止されているため、何も操作できません。このサービスの運営者にご連絡ください。',
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
    guest_closed:
      '가상 머신 {{id}}의 포트 22가 응답하지 않습니다. 방금 시작했다면 1분 뒤에 다시 시도하고, 아니면 직렬 콘솔에서 SSH 서버가 실행 중인지 확인하세요.',
    guest_unsure:
      '가상 머신 {{id}}의 포트 22에서 수신 대기하는 것이 SSH 서버답게 응답하지 않습니다. 직렬 콘솔에서 확인하거나 재시작하세요.',
    guest_host_key:
      '가상 머신 {{id}}의 SSH 서버 키가 설정된 것과 다릅니다. 직렬 콘솔에서 “cloud-init clean”을 실행하고 콘솔에서 재시작하면 다시 설정됩니다.',
    guest_key_refused:
      '가상 머신 {{id}}의 SSH 서버에 root로 들어갈 수 없습니다. 직렬 콘솔에서 “cloud-init clean”을 실행하고 콘솔에서 재시작하면 다시 설정됩니다.',
    no_shell:
      '인스턴스 {{id}}의 이미지에 셸이 없어 아무것도 실행할 수 없습니다. 포트는 -L과 -D로 연결할 수 있습니다.',
    outdated: '인스턴스 {{id}}은(는) SSH를 지원하기 전에 시작되었습니다. 콘솔에서 다시 시작한 뒤 연결하세요.',
    busy: '인스턴스 {{id}}에 프로그램이나 연결을 더 열 수 없습니다. 일부를 닫고 다시 시도하세요.',
    stopped: '인스턴스 {{id}}이(가) 더 이상 실행되지 않습니다.',
    key_removed: '로그인에 사용한 SSH 키가 계정에서 제거되었습니다.',
    key_not_chosen: '로그인에 사용한 SSH 키로는 더 이상 {{id}}에 로그인할 수 없습니다.',
    account_closed: '계정이 폐쇄되었습니다.',
    account_suspended: '이 계정은 정지되어 아무 작업도 할 수 없습니다. 이 서비스의 운영자에게 문의하세요.',
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
