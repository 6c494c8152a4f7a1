"""What each process of the pre-training runs: data-parallel steps on random numbers, in the place of your own."""

from __future__ import annotations

__all__ = ["PROGRAM"]

# Tests compile it; it was never run, for want of GPUs.
PROGRAM = """
import os, torch, torch.distributed as dist
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
dist.init_process_group("nccl")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Transformer(1024, batch_first=True).cuda())
optimizer = torch.optim.AdamW(model.parameters())
for step in range(1000):
    words = torch.rand(8, 512, 1024, device="cuda")
    loss = (model(words, words) - words).square().mean()
    optimizer.zero_grad(), loss.backward(), optimizer.step()
    if step % 100 == 0 and dist.get_rank() == 0:
        print(step, loss.item(), os.environ["JOB_CHECKPOINTS"], flush=True)
"""
