import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  at: string
  address: string
  /** Such as `Firefox, Linux`; empty when it could not be told. */
  browser: string
}

/** The mail about a sign-in from a browser or network that the account has not had. */
export const NEW_SIGN_IN_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand }) => `New sign-in to your ${brand} account`,
    body: ({ brand, at, address, browser, link }) => [
      'Hello,',
      `Somebody signed in to your ${brand} account from a browser or network that it has not had before.`,
      [`Time: ${at}`, `Network address: ${address}`, `Browser: ${browser || 'not known'}`].join('\n'),
      'If it was you, there is nothing to do. If it was not, end that session and choose a new password:',
      link,
    ],
  },
  zh: {
    subject: ({ brand }) => `您的 ${brand} 账户有新的登录`,
    body: ({ brand, at, address, browser, link }) => [
      '您好！',
      `有人从此前未使用过的浏览器或网络登录了您的 ${brand} 账户。`,
      [`时间：${at}`, `网络地址：${address}`, `浏览器：${browser || '未知'}`].join('\n'),
      '如果是您本人，无需任何操作。如果不是，请结束该会话并设置新密码：',
      link,
    ],
  },
  ja: {
    subject: ({ brand }) => `${brand} アカウントへの新しいログイン`,
    body: ({ brand, at, address, browser, link }) => [
      'こんにちは。',
      `これまで使われたことのないブラウザーまたはネットワークから、${brand} アカウントへのログインがありました。`,
      [`日時: ${at}`, `ネットワークアドレス: ${address}`, `ブラウザー: ${browser || '不明'}`].join('\n'),
      'ご本人であれば、何もする必要はありません。お心当たりがない場合は、そのセッションを終了し、新しいパスワードを設定してください。',
      link,
    ],
  },
  ko: {
    subject: ({ brand }) => `${brand} 계정에 새로운 로그인이 있었습니다`,
    body: ({ brand, at, address, browser, link }) => [
      '안녕하세요.',
      `이전에 사용된 적이 없는 브라우저 또는 네트워크에서 ${brand} 계정에 로그인했습니다.`,
      [`시각: ${at}`, `네트워크 주소: ${address}`, `브라우저: ${browser || '알 수 없음'}`].join('\n'),
      '본인이라면 아무것도 하지 않으셔도 됩니다. 본인이 아니라면 해당 세션을 종료하고 새 비밀번호를 설정해 주세요.',
      link,
    ],
  },
}
