import type { Language } from '@berth/contract/limits'
import type { OfferWatchFacts } from '../facts.ts'
import type { NoticeTexts } from './notice-mail.ts'

interface Values {
  at: string
  news: OfferWatchFacts['news']
  /** Such as `2 × H100 SXM, Frankfurt`. */
  offer: string
  /** Of the instance that it deploys; empty for a watch that only mails. */
  name: string
}

type Said = Record<OfferWatchFacts['news'], { subject: string; meaning: string }>

/** What happened, and what becomes of the watch. */
const NEWS: Record<Language, Said> = {
  en: {
    back: {
      subject: 'is available again',
      meaning:
        'It is available again; nothing is kept for you. The watch goes on: you hear of it again when it was sold out and comes back, six hours later at the earliest.',
    },
    deployed: {
      subject: 'was deployed for you',
      meaning:
        'It was available again, and your instance was deployed. Its first hour is set aside, and it is charged from when it is ready.',
    },
    price_above: {
      subject: 'costs more than you allowed',
      meaning:
        'It is available again, but an hour costs more than you allowed. Nothing was deployed; the watch goes on.',
    },
    insufficient_balance: {
      subject: 'was not deployed: the balance does not cover the first hour',
      meaning:
        'It is available again, but the balance does not cover its first hour. Nothing was deployed. The watch goes on and tries again once you have topped up.',
    },
    budget_reached: {
      subject: 'was not deployed: a budget is used up',
      meaning:
        'It is available again, but a budget that you set is used up. Nothing was deployed. The watch goes on and tries again once the budget is raised or its next day or month begins.',
    },
    instance_limit: {
      subject: 'was not deployed: too many instances',
      meaning:
        'It is available again, but the account has as many instances as it may have. Nothing was deployed; the watch goes on.',
    },
    not_verified: {
      subject: 'was not deployed: the account is not activated',
      meaning:
        'It is available again, but the account is not activated. Nothing was deployed; the watch goes on.',
    },
    refused: {
      subject: 'cannot be deployed as it was set up',
      meaning:
        'What was to be deployed is not accepted any more, for example because its image is gone. Nothing was deployed, and the watch has ended.',
    },
    expired: {
      subject: 'was not back in time',
      meaning: 'Its date has come, and the watch has ended. Nothing was deployed.',
    },
  },
  zh: {
    back: {
      subject: '重新可用',
      meaning: '该机型重新可用，但不会为您保留。关注仍在继续：再次售罄并恢复时会再通知您，最早在六小时之后。',
    },
    deployed: {
      subject: '已为您部署',
      meaning: '该机型重新可用，您的实例已部署。首个小时的费用已预留，就绪后开始计费。',
    },
    price_above: {
      subject: '价格高于您的上限',
      meaning: '该机型重新可用，但每小时价格高于您的上限。未进行部署，关注仍在继续。',
    },
    insufficient_balance: {
      subject: '未部署：余额不足以支付首个小时',
      meaning: '该机型重新可用，但余额不足以支付首个小时。未进行部署；关注仍在继续，充值后会再次尝试。',
    },
    budget_reached: {
      subject: '未部署：预算已用尽',
      meaning:
        '该机型重新可用，但您设置的预算已用尽。未进行部署；关注仍在继续，提高预算或预算的下一个周期开始后会再次尝试。',
    },
    instance_limit: {
      subject: '未部署：实例过多',
      meaning: '该机型重新可用，但账户的实例数已达上限。未进行部署，关注仍在继续。',
    },
    not_verified: {
      subject: '未部署：账户未激活',
      meaning: '该机型重新可用，但账户尚未激活。未进行部署，关注仍在继续。',
    },
    refused: {
      subject: '无法按原设置部署',
      meaning: '要部署的内容已不被接受，例如镜像已不存在。未进行部署，关注已结束。',
    },
    expired: { subject: '未能及时恢复', meaning: '已到截止日期，关注已结束。未进行部署。' },
  },
  ja: {
    back: {
      subject: 'に空きが出ました',
      meaning:
        '空きが出ましたが、確保はされていません。見守りは続きます。再び売り切れて空きが戻ったとき、早くても 6 時間後にお知らせします。',
    },
    deployed: {
      subject: 'をデプロイしました',
      meaning:
        '空きが出たため、インスタンスをデプロイしました。最初の 1 時間分を確保し、準備ができた時点から課金されます。',
    },
    price_above: {
      subject: 'の料金が上限を超えています',
      meaning:
        '空きが出ましたが、1 時間の料金が上限を超えています。デプロイはされておらず、見守りは続きます。',
    },
    insufficient_balance: {
      subject: 'はデプロイされませんでした: 最初の 1 時間分の残高がありません',
      meaning:
        '空きが出ましたが、残高が最初の 1 時間分に足りません。デプロイはされていません。見守りは続き、チャージ後に再び試みます。',
    },
    budget_reached: {
      subject: 'はデプロイされませんでした: 予算を使い切っています',
      meaning:
        '空きが出ましたが、設定された予算を使い切っています。デプロイはされていません。見守りは続き、予算が引き上げられるか次の期間が始まると再び試みます。',
    },
    instance_limit: {
      subject: 'はデプロイされませんでした: インスタンスが多すぎます',
      meaning:
        '空きが出ましたが、アカウントのインスタンス数が上限に達しています。デプロイはされておらず、見守りは続きます。',
    },
    not_verified: {
      subject: 'はデプロイされませんでした: アカウントが有効化されていません',
      meaning:
        '空きが出ましたが、アカウントが有効化されていません。デプロイはされておらず、見守りは続きます。',
    },
    refused: {
      subject: 'は設定どおりにデプロイできません',
      meaning:
        'イメージがなくなったなどの理由で、設定された内容は受け付けられません。デプロイはされず、見守りは終了しました。',
    },
    expired: {
      subject: 'は期限までに戻りませんでした',
      meaning: '期限になったため、見守りは終了しました。デプロイはされていません。',
    },
  },
  ko: {
    back: {
      subject: '다시 사용 가능',
      meaning:
        '다시 사용할 수 있지만 따로 확보해 두지는 않습니다. 지켜보기는 계속되며, 다시 매진되었다가 돌아오면 빨라도 6시간 뒤에 알려 드립니다.',
    },
    deployed: {
      subject: '배포됨',
      meaning:
        '다시 사용할 수 있게 되어 인스턴스를 배포했습니다. 첫 1시간 요금을 예약했으며, 준비된 때부터 요금이 부과됩니다.',
    },
    price_above: {
      subject: '요금이 상한보다 높음',
      meaning:
        '다시 사용할 수 있지만 시간당 요금이 상한보다 높습니다. 배포하지 않았으며 지켜보기는 계속됩니다.',
    },
    insufficient_balance: {
      subject: '배포되지 않음: 첫 1시간 요금보다 잔액이 부족함',
      meaning:
        '다시 사용할 수 있지만 잔액이 첫 1시간 요금에 미치지 못합니다. 배포하지 않았습니다. 지켜보기는 계속되며 충전하면 다시 시도합니다.',
    },
    budget_reached: {
      subject: '배포되지 않음: 예산을 모두 사용함',
      meaning:
        '다시 사용할 수 있지만 설정하신 예산을 모두 사용했습니다. 배포하지 않았습니다. 지켜보기는 계속되며 예산을 올리거나 다음 기간이 시작되면 다시 시도합니다.',
    },
    instance_limit: {
      subject: '배포되지 않음: 인스턴스가 너무 많음',
      meaning:
        '다시 사용할 수 있지만 계정의 인스턴스 수가 한도에 도달했습니다. 배포하지 않았으며 지켜보기는 계속됩니다.',
    },
    not_verified: {
      subject: '배포되지 않음: 계정이 활성화되지 않음',
      meaning: '다시 사용할 수 있지만 계정이 활성화되지 않았습니다. 배포하지 않았으며 지켜보기는 계속됩니다.',
    },
    refused: {
      subject: '설정대로 배포할 수 없음',
      meaning:
        '이미지가 없어지는 등의 이유로 설정한 내용을 더 이상 받아들일 수 없습니다. 배포하지 않았으며 지켜보기는 끝났습니다.',
    },
    expired: {
      subject: '기한까지 돌아오지 않음',
      meaning: '기한이 되어 지켜보기가 끝났습니다. 배포하지 않았습니다.',
    },
  },
}

/** The mail about an offer that is watched (B15). */
export const OFFER_WATCH_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, news, offer }) => `${brand}: ${offer} ${NEWS.en[news].subject}`,
    body: ({ news, offer, name, at, link }) => [
      'Hello,',
      `This is about an offer that you watch: ${offer}${name === '' ? '' : `, for your instance “${name}”`} (${at}).`,
      NEWS.en[news].meaning,
      link,
    ],
  },
  zh: {
    subject: ({ brand, news, offer }) => `${brand}：${offer} ${NEWS.zh[news].subject}`,
    body: ({ news, offer, name, at, link }) => [
      '您好！',
      `此邮件与您关注的机型有关：${offer}${name === '' ? '' : `，用于您的实例“${name}”`}（${at}）。`,
      NEWS.zh[news].meaning,
      link,
    ],
  },
  ja: {
    subject: ({ brand, news, offer }) => `${brand}: ${offer} ${NEWS.ja[news].subject}`,
    body: ({ news, offer, name, at, link }) => [
      'こんにちは。',
      `見守り中のものについてのお知らせです: ${offer}${name === '' ? '' : `、インスタンス「${name}」`}（${at}）`,
      NEWS.ja[news].meaning,
      link,
    ],
  },
  ko: {
    subject: ({ brand, news, offer }) => `${brand}: ${offer} ${NEWS.ko[news].subject}`,
    body: ({ news, offer, name, at, link }) => [
      '안녕하세요.',
      `지켜보시는 항목에 관한 안내입니다: ${offer}${name === '' ? '' : `, 인스턴스 “${name}”`} (${at})`,
      NEWS.ko[news].meaning,
      link,
    ],
  },
}
