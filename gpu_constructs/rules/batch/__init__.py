"""AWS Batch: what does it refuse that ECS itself takes?"""
