import type { Language } from '@berth/contract/limits'
import type { ImageFacts } from '../facts.ts'
import { type NoticeTexts, quoted } from './notice-mail.ts'

interface Values {
  at: string
  news: ImageFacts['news']
  name: string
  /** The operator's own words, or the engine's; empty where there are none. */
  detail: string
  /** When it is deleted, or by when the operator answers; empty where neither is to come. */
  until: string
}

type Said = Record<ImageFacts['news'], { subject: string; meaning: (until: string) => string }>

/** What happened, and what becomes of the image. */
const NEWS: Record<Language, Said> = {
  en: {
    in_review: {
      subject: 'is in review',
      meaning: until =>
        `We read it before the community gets it, and answer by ${until}. Until then you can take it back.`,
    },
    published: {
      subject: 'is in the community',
      meaning: () =>
        'It has been reviewed, and everybody can deploy it now. The community’s copy costs you nothing and stays when you delete yours.',
    },
    refused: {
      subject: 'was refused',
      meaning: () =>
        'The community does not get it as it is. It is still yours: change it and send it again.',
    },
    taken_down: {
      subject: 'was taken off the community',
      meaning: () => 'Nobody can deploy it any more. Machines that run it go on, and your own image stays.',
    },
    build_failed: {
      subject: 'could not be made',
      meaning: () => 'Nothing of it was kept and it costs nothing. What you wrote of it is still there.',
    },
    unpaid: {
      subject: 'is not paid for',
      meaning: until =>
        `The balance is used up, so nobody pays for this image. Nothing is deleted now. Unless you top up, it is deleted on ${until}.`,
    },
    unpaid_soon: {
      subject: 'will be deleted soon',
      meaning: until => `The balance is still used up. Unless you top up, this image is deleted on ${until}.`,
    },
    deleted_unpaid: {
      subject: 'was deleted',
      meaning: () => 'It was not paid for until its date came, and was deleted.',
    },
    missing: {
      subject: 'cannot be found',
      meaning: () => 'What keeps it does not have it any more. It costs nothing from now on.',
    },
  },
  zh: {
    in_review: {
      subject: '正在审核',
      meaning: until => `发布到社区前我们会进行审核，并在 ${until} 之前答复。在此之前您可以撤回。`,
    },
    published: {
      subject: '已发布到社区',
      meaning: () => '审核已通过，现在所有人都可以部署它。社区副本不向您收费，删除您自己的镜像后它仍会保留。',
    },
    refused: {
      subject: '未通过审核',
      meaning: () => '目前的版本不会发布到社区。镜像仍属于您：修改后可重新提交。',
    },
    taken_down: {
      subject: '已从社区下架',
      meaning: () => '今后无法再部署它。正在运行的机器不受影响，您自己的镜像仍会保留。',
    },
    build_failed: {
      subject: '创建失败',
      meaning: () => '没有保留任何内容，也不会产生费用。您填写的信息仍在。',
    },
    unpaid: {
      subject: '已欠费',
      meaning: until => `余额已用完，该镜像无人付费。目前不会删除任何内容。若不充值，它将于 ${until} 删除。`,
    },
    unpaid_soon: {
      subject: '即将删除',
      meaning: until => `余额仍为零。若不充值，该镜像将于 ${until} 删除。`,
    },
    deleted_unpaid: { subject: '已删除', meaning: () => '到期前未付费，该镜像已删除。' },
    missing: { subject: '无法找到', meaning: () => '存储中已没有该镜像。从现在起不再计费。' },
  },
  ja: {
    in_review: {
      subject: 'を審査しています',
      meaning: until =>
        `コミュニティに公開する前に審査を行い、${until} までに回答します。それまでは取り下げることができます。`,
    },
    published: {
      subject: 'をコミュニティに公開しました',
      meaning: () =>
        '審査が完了し、誰でもデプロイできるようになりました。コミュニティのコピーに料金はかからず、ご自身のイメージを削除しても残ります。',
    },
    refused: {
      subject: 'は承認されませんでした',
      meaning: () =>
        '現在の内容では公開されません。イメージはそのまま残っています。変更してから再度お送りください。',
    },
    taken_down: {
      subject: 'をコミュニティから取り下げました',
      meaning: () => '今後はデプロイできません。実行中のマシンはそのまま動作し、ご自身のイメージは残ります。',
    },
    build_failed: {
      subject: 'を作成できませんでした',
      meaning: () => '何も保存されておらず、料金はかかりません。入力した内容は残っています。',
    },
    unpaid: {
      subject: 'の料金が支払われていません',
      meaning: until =>
        `残高がなくなり、このイメージの料金が支払われていません。今は何も削除されません。チャージがない場合、${until} に削除されます。`,
    },
    unpaid_soon: {
      subject: 'はまもなく削除されます',
      meaning: until => `残高はまだありません。チャージがない場合、このイメージは ${until} に削除されます。`,
    },
    deleted_unpaid: {
      subject: 'を削除しました',
      meaning: () => '期日までに支払いがなかったため、削除しました。',
    },
    missing: {
      subject: 'が見つかりません',
      meaning: () => '保存先にこのイメージがありません。今後、料金はかかりません。',
    },
  },
  ko: {
    in_review: {
      subject: '검토 중',
      meaning: until =>
        `커뮤니티에 게시하기 전에 검토하며 ${until}까지 답변합니다. 그때까지 회수할 수 있습니다.`,
    },
    published: {
      subject: '커뮤니티에 게시됨',
      meaning: () =>
        '검토가 끝나 이제 누구나 배포할 수 있습니다. 커뮤니티의 사본에는 요금이 부과되지 않으며, 본인의 이미지를 삭제해도 남습니다.',
    },
    refused: {
      subject: '승인되지 않음',
      meaning: () => '지금 상태로는 게시되지 않습니다. 이미지는 그대로 있으니 고친 뒤 다시 보내 주세요.',
    },
    taken_down: {
      subject: '커뮤니티에서 내려짐',
      meaning: () => '더 이상 배포할 수 없습니다. 실행 중인 머신은 계속 동작하고 본인의 이미지는 남습니다.',
    },
    build_failed: {
      subject: '만들지 못함',
      meaning: () => '보관된 것이 없으며 요금도 부과되지 않습니다. 입력한 내용은 그대로 있습니다.',
    },
    unpaid: {
      subject: '요금 미납',
      meaning: until =>
        `잔액이 모두 사용되어 이 이미지의 요금이 지불되지 않습니다. 지금은 아무것도 삭제하지 않습니다. 충전하지 않으면 ${until}에 삭제됩니다.`,
    },
    unpaid_soon: {
      subject: '곧 삭제됨',
      meaning: until => `아직 잔액이 없습니다. 충전하지 않으면 이 이미지는 ${until}에 삭제됩니다.`,
    },
    deleted_unpaid: { subject: '삭제됨', meaning: () => '기한까지 요금이 지불되지 않아 삭제했습니다.' },
    missing: {
      subject: '찾을 수 없음',
      meaning: () => '이미지를 보관하던 곳에 더 이상 없습니다. 지금부터 요금이 부과되지 않습니다.',
    },
  },
}

/** The mail about an image of the customer's: how its review went (R4.8), that it is not paid for (B4), or not there. */
export const IMAGE_TEXTS: NoticeTexts<Values> = {
  en: {
    subject: ({ brand, news, name }) => `${brand}: image ${name} ${NEWS.en[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      'Hello,',
      `This is about your image “${name}” (${at}).`,
      ...quoted(detail),
      NEWS.en[news].meaning(until),
      link,
    ],
  },
  zh: {
    subject: ({ brand, news, name }) => `${brand}：镜像 ${name} ${NEWS.zh[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      '您好！',
      `此邮件与您的镜像“${name}”有关（${at}）。`,
      ...quoted(detail),
      NEWS.zh[news].meaning(until),
      link,
    ],
  },
  ja: {
    subject: ({ brand, news, name }) => `${brand}: イメージ ${name} ${NEWS.ja[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      'こんにちは。',
      `イメージ「${name}」についてのお知らせです（${at}）。`,
      ...quoted(detail),
      NEWS.ja[news].meaning(until),
      link,
    ],
  },
  ko: {
    subject: ({ brand, news, name }) => `${brand}: 이미지 ${name} ${NEWS.ko[news].subject}`,
    body: ({ news, name, at, until, detail, link }) => [
      '안녕하세요.',
      `이미지 “${name}”에 관한 안내입니다 (${at}).`,
      ...quoted(detail),
      NEWS.ko[news].meaning(until),
      link,
    ],
  },
}
